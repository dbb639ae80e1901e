/* A child takes more pages than there are, in order; its sibling and its parent go on. */

#include "report.h"

static char bytes[512];

/* In the greedy child: a byte into `report` for each page. */
static void take(int wanted, int report) {
    char *heap = sbrk(wanted * PGSIZE);
    if (heap == MAP_FAILED)
        exit(44);
    for (int page = 0; page < wanted; page++) {
        *(volatile int *)(heap + (uint64)page * PGSIZE) = page;
        write(report, "!", 1);
    }
    exit(0);
}

int main(void) {
    int report[2], start[2], over[2];
    char go;
    pipe(report);
    pipe(start);
    pipe(over);
    char *mine = sbrk(PGSIZE);
    memset(mine, 'm', PGSIZE);
    if (child()) {
        close(report[0]);
        close(report[1]);
        close(over[1]);
        read(over[0], &go, 1); /* until the greedy one is gone */
        exit(others(mine, PGSIZE, 'm') == 0 ? 33 : 1);
    }
    if (child()) {
        close(report[0]);
        read(start[0], &go, 1);
        memstat(&now);
        take(now.free_pages + 64, report[1]);
    }
    close(report[1]);
    memset(bytes, 0, sizeof bytes); /* own what is shared, while there are frames for it */
    memset(mine, 'm', PGSIZE);
    write(start[1], "!", 1);
    int taken = 0;
    for (int n; (n = read(report[0], bytes, sizeof bytes)) > 0;)
        taken += n;
    say("greedy", status_of_child());
    say("taken", taken);
    close(over[1]);
    say("sibling", status_of_child());
    say("parent", others(mine, PGSIZE, 'm'));
    return 0;
}
