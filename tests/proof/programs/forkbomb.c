/* Everybody forks until nobody can; whoever fails first says so to all, and then all end. */

#include "user.h"

static struct procinfo table[NPROC];

static int alive(void) {
    return getprocs(table, NPROC);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) /* hold much memory, so that frames run out before slots */
        memset(sbrk(PGSIZE * atoi(argv[1])), 1, (uint64)PGSIZE * (uint64)atoi(argv[1]));
    int before = alive();
    int bomb = fork();
    if (bomb == 0)
        for (;;) {
            int fd = open("/stop", O_RDONLY);
            if (fd >= 0)
                exit(0);
            if (fork() < 0)
                close(open("/stop", O_CREATE | O_RDWR));
        }
    int status, pid = wait(&status);
    printf("waited=%d\nstatus=%d\n", pid == bomb, status);
    while (alive() > before) /* the others are init's now, and end in their own time */
        yield();
    printf("unlinked=%d\n", unlink("/stop"));
    return 0;
}
