/* Stores to one's own text: `textwrite now` in the first process, before any fork; else in others. */

#include "report.h"

int main(int argc, char **argv);

static volatile char *const text = (volatile char *)(uint64)main;

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        *text = 0;
        return 0;
    }
    char before = *text;
    if (child()) {
        if (child()) {
            *text = 0;
            exit(0);
        }
        say("grandchild", status_of_child());
        *text = 0;
        exit(0);
    }
    say("child", status_of_child());
    int fd = open("/echo", O_RDONLY);
    say("read", read(fd, (char *)(uint64)main, 1));
    say("stat", fstat(fd, (struct stat *)(uint64)main));
    say("pipe", pipe((int *)0));
    say("wait", wait((int *)8));
    say("changed", *text != before);
    return 0;
}
