/* Children take memory until they die of it or are refused; the parent has its own all the while. */

#include "user.h"

enum { CHILDREN = 4, STEP = 16 * PGSIZE };

static void take_all(void) {
    for (;;) {
        char *more = sbrk(STEP);
        if (more == MAP_FAILED)
            exit(2);
        memset(more, 7, STEP);
    }
}

int main(void) {
    char *mine = sbrk(2 * PGSIZE);
    struct memstat before, after;
    memset(mine, 42, 2 * PGSIZE);
    memstat(&before);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            take_all();
    int ended = 0, status;
    for (int i = 0; i < CHILDREN; i++)
        ended += wait(&status) > 0 && (status == -1 || status == 2);
    memstat(&after);
    int kept = 1;
    for (int i = 0; i < 2 * PGSIZE; i++)
        kept &= mine[i] == 42;
    printf("ended=%d\nkept=%d\nlost=%d\n", ended, kept, before.free_pages - after.free_pages);
    char *more = sbrk(64 * PGSIZE);
    memset(more, 1, 64 * PGSIZE);
    printf("more=%d\n", more[64 * PGSIZE - 1]);
    return 0;
}
