/* churn N: N times a child that touches some pages and exits, becomes another program, or is killed. */

#include "report.h"

static void round_of(int i) {
    if (child()) {
        int pages = i % 7;
        char *heap = sbrk(pages * PGSIZE + (i % 3) * (1 << 20));
        for (int page = 0; page < pages; page++)
            heap[(uint64)page * PGSIZE] = 1;
        char *argv[] = {"echo", "-n", NULL};
        switch (i % 4) {
        case 0:
            exit(0);
        case 1:
            exec("/echo", argv);
            exit(1);
        case 2:
            *(volatile char *)~0ul = 1;
            exit(1);
        default:
            kill(getpid());
            exit(1);
        }
    }
    if (status_of_child() != (i % 4 < 2 ? 0 : -1))
        say("wrong", i);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    for (int i = 0; i < 4; i++)
        round_of(i);
    int before = used();
    for (int i = 0; i < rounds; i++)
        round_of(i);
    say("lost", used() - before);
    return 0;
}
