/* A pipe that somebody could read, and nobody does. With an argument: not even when the writer is all
 * that is left. */

#include "user.h"

static char data[10000];

int main(int argc, char **argv) {
    (void)argv;
    int fds[2], status;
    pipe(fds);
    if (argc > 1)
        return write(fds[1], data, sizeof data); /* for ever: it could read itself */
    int child = fork();
    if (child == 0) {
        close(fds[0]);
        exit(write(fds[1], data, sizeof data) == -1 ? 5 : 6);
    }
    sleep(2);
    close(fds[0]); /* now nobody can read it any more */
    printf("waited=%d\n", wait(&status) == child);
    printf("status=%d\n", status);
    close(fds[1]);
    pipe(fds);
    child = fork();
    if (child == 0)
        exit(write(fds[1], data, sizeof data));
    sleep(2);
    printf("killed=%d\n", kill(child));
    printf("waited=%d\n", wait(&status) == child);
    printf("status=%d\n", status);
    return 0;
}
