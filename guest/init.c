/* init: the first program. It starts one program and ends with it; the kernel then halts the
 * machine, with that program's exit status. The kernel has opened fds 0, 1 and 2.
 *
 *     init                     a shell on the console
 *     init -c COMMANDS         a shell for those commands
 *     init -- PROGRAM ARG...   that program
 *
 * Orphans become init's children, so the loop reaps whatever ends before.
 *
 * xv6: user/init.c */

#include "user.h"

static char *const shell[] = {"sh", NULL};

__attribute__((noreturn)) static void run(char *const *argv) {
    static char path[MAXPATH];
    snprintf(path, sizeof path, "%s%s", strchr(argv[0], '/') ? "" : "/", argv[0]);
    exec(path, (char **)argv);
    fprintf(2, "init: cannot run %s\n", path);
    exit(127);
}

int main(int argc, char **argv) {
    int child = fork();
    if (child < 0)
        fatal("init: fork failed\n");
    if (child == 0) {
        if (argc > 2 && strcmp(argv[1], "--") == 0)
            run(argv + 2);
        if (argc > 1)
            argv[0] = "sh";
        run(argc > 1 ? argv : shell);
    }
    for (;;) {
        int status, pid = wait(&status);
        if (pid == child)
            return status;
        if (pid < 0)
            fatal("init: wait failed\n");
    }
}
