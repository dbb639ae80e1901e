/* init: the first program. It starts one program and ends with it; the kernel then halts the
 * machine, with that program's exit status.
 *
 *     init                     a shell on the console
 *     init -c COMMANDS         a shell for those commands
 *     init -- PROGRAM ARG...   that program, with a process of its own in the shell's place, so that
 *                              it meets the same neighbours and gets the same pid as at a prompt
 *
 * Orphans become init's children, so the loop reaps whatever ends before.
 *
 * xv6: user/init.c */

#include "user.h"

static char *const shell[] = {"sh", NULL};

/* xv6's kernel opens no file for init and makes no console: both are init's work. */
static void open_console(void) {
#ifdef ABI_XV6
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    mknod("console", 1, 0); /* fails where the image has one */
    open("console", O_RDWR);
    dup(0);
    dup(0);
#endif
}

__attribute__((noreturn)) static void run(char *const *argv) {
    static char path[MAXPATH];
    snprintf(path, sizeof path, "%s%s", strchr(argv[0], '/') ? "" : "/", argv[0]);
    exec(path, (char **)argv);
    fprintf(2, "init: cannot run %s\n", path);
    exit(127);
}

/* Start a process; 0 in the child. */
static int start(void) {
    int child = fork();
    if (child < 0)
        fatal("init: fork failed\n");
    return child;
}

/* The status of `child`, when it has ended. */
static int wait_for(int child) {
    for (;;) {
        int status, pid = wait(&status);
        if (pid == child)
            return status;
        if (pid < 0)
            fatal("init: wait failed\n");
    }
}

/* What the first child does. */
__attribute__((noreturn)) static void session(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--") == 0) {
        int program = start();
        if (program == 0)
            run(argv + 2);
        exit(wait_for(program));
    }
    if (argc > 2 && strcmp(argv[1], "-c") == 0) {
        argv[0] = shell[0];
        run(argv);
    }
    run(shell);
}

int main(int argc, char **argv) {
    open_console();
    int child = start();
    if (child == 0)
        session(argc, argv);
    return wait_for(child);
}
