/* Fork until fork says no, then use one more page than the code lies on: page tables must not have
   taken every frame that the two could be in. */
#include "user.h"

static const char far[4096] = {1}; /* on another page than the code */

int main(void)
{
    int children = 0, sum = 0;
    for (;;) {
        int pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            sleep(5);
            exit(0);
        }
        children++;
    }
    for (volatile int i = 0; i < 4096; i += 512)
        sum += ((volatile const char *)far)[i];
    for (int i = 0; i < children; i++)
        if (wait(0) < 0)
            exit(1);
    printf("%d children, %d\n", children, sum);
    exit(children > 0 && sum == 1 ? 0 : 1);
}
