/* Two processes wait for room in one pipe while its reader sleeps: neither may keep the other awake,
   or time would never pass. */
#include "user.h"

int main(void)
{
    int ends[2], total = 0, n;
    static char data[1024];
    if (pipe(ends) < 0)
        exit(1);
    for (int i = 0; i < 2; i++)
        if (fork() == 0)
            exit(write(ends[1], data, sizeof(data)) == (int)sizeof(data) ? 0 : 1);
    close(ends[1]);
    sleep(2);
    while ((n = read(ends[0], data, sizeof(data))) > 0)
        total += n;
    printf("%d bytes\n", total);
    for (int i = 0, status; i < 2; i++)
        if (wait(&status) < 0 || status != 0)
            exit(1);
    exit(0);
}
