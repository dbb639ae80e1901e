/* init: the first program. It starts the shell and ends with it; the kernel then halts the
 * machine, with the shell's exit status.
 *
 * Orphans become init's children, so the loop reaps whatever ends before the shell does. The
 * kernel has opened fds 0, 1 and 2. Arguments, if init gets any, go to the shell.
 *
 * xv6: user/init.c */

#include "user.h"

int main(int argc, char **argv) {
    char *plain[] = {"sh", NULL};
    int shell = fork();
    if (shell < 0)
        fatal("init: fork failed\n");
    if (shell == 0) {
        if (argc > 0)
            argv[0] = "sh";
        exec("/sh", argc > 0 ? argv : plain);
        fatal("init: exec /sh failed\n");
    }
    for (;;) {
        int status, pid = wait(&status);
        if (pid == shell)
            return status;
        if (pid < 0)
            fatal("init: wait failed\n");
    }
}
