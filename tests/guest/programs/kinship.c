/* fork, wait, exit, kill, sleep, dup: what each returns. */

#include "report.h"

static int argument; /* in .data or .bss: shared by fork */

int main(int argc, char **argv) {
    if (argc > 1) {
        say("orphan_of", strcmp(argv[1], "x") == 0);
        return 0;
    }
    int status = 77, fd;
    say("childless", wait(&status));
    say("untouched", status);

    int pid = fork();
    if (pid == 0)
        exit(-5);
    say("waited", wait(&status) - pid);
    say("status", status);

    argument = 1;
    if ((pid = fork()) == 0) {
        argument = 2;
        exit(0);
    }
    say("null", wait(NULL) - pid);
    say("argument", argument);

    if ((pid = fork()) == 0)
        exit(0x12345678);
    say("bad_status", wait((int *)1));
    say("still_there", kill(pid));
    say("good_status", wait(&status) - pid);
    say("whole", status == 0x12345678);
    say("gone", kill(pid));

    if ((pid = fork()) == 0) {
        sleep(1000000);
        exit(0);
    }
    yield();
    int before = uptime();
    say("kill", kill(pid));
    wait(&status);
    say("killed", status);
    say("at_once", uptime() - before < 10);

    int fds[2];
    pipe(fds);
    if ((pid = fork()) == 0) {
        char byte;
        read(fds[0], &byte, 1);
        exit(0);
    }
    yield();
    kill(pid);
    wait(&status);
    say("killed_reader", status);

    if ((pid = fork()) == 0) {
        if (fork() == 0) {
            read(fds[0], &argument, 1);
            exit(0);
        }
        wait(NULL);
        exit(0);
    }
    yield();
    yield();
    kill(pid);
    wait(&status);
    say("killed_waiter", status);
    write(fds[1], "!", 1); /* the orphan goes on, and is init's */

    say("kill_0", kill(0));
    say("kill_1", kill(1));
    say("kill_minus", kill(-1));
    say("sleep_0", sleep(0));
    say("sleep_minus", sleep(-1));
    before = uptime();
    sleep(5);
    say("slept", uptime() - before);

    say("dup", (fd = dup(0)));
    close(fd);
    close(0);
    say("lowest", dup(1));
    say("dup_bad", dup(15));
    say("dup_minus", dup(-1));
    while ((fd = dup(1)) >= 0)
        ;
    say("full", fd);
    say("open_full", open("/echo", O_RDONLY));
    say("pipe_full", pipe(fds));
    return 0;
}
