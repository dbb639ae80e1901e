/* workingset [PAGES [SET [PHASES]]]: use SET pages (32) at a time out of PAGES (512), in PHASES phases (8).
 *
 * In each phase the program touches the pages of its working set again and again, in an order that
 * only looks random; then it moves on to the next set. As long as the set fits the frames, only the
 * beginning of a phase costs page faults; below that the fault rate rises like a wall.
 * Run it with `nexemu run --frames N --swap SIZE --stats`. Exit status 0: every page held its number. */

#include "user.h"

#define MAX_PAGES 0x7ffff
#define TOUCHES 200 /* of each page of the set, on average, in a phase */

static const char name[] = "[workingset]";
static const char usage[] = "usage: workingset [PAGES [SET [PHASES]]]";

/* Marsaglia's xorshift, seeded: the same run touches the same pages. */
static uint64 next(uint64 *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int argument(int argc, char **argv, int at, int otherwise, int most, const char *what) {
    if (argc <= at)
        return otherwise;
    int value = atoi(argv[at]);
    if (value < 1 || value > most)
        fatal("%s %s must be 1 to %d, not %s\n%s\n", name, what, most, argv[at], usage);
    return value;
}

int main(int argc, char **argv) {
    if (argc > 4)
        fatal("%s unexpected argument %s\n%s\n", name, argv[4], usage);
    int pages = argument(argc, argv, 1, 512, MAX_PAGES, "PAGES");
    int set = argument(argc, argv, 2, pages < 32 ? pages : 32, pages, "SET");
    int phases = argument(argc, argv, 3, 8, 1000000, "PHASES");
    volatile char *memory = sbrk(pages * PGSIZE);
    if (memory == MAP_FAILED)
        fatal("%s sbrk failed for %d pages\n", name, pages);
    for (int page = 0; page < pages; page++)
        *(volatile int *)(memory + (uint64)page * PGSIZE) = page;
    uint64 state = 88172645463325252ul;
    for (int phase = 0; phase < phases; phase++)
        for (int touch = 0; touch < set * TOUCHES; touch++) {
            uint64 page = ((uint64)phase * (uint64)set + next(&state) % (uint64)set) % (uint64)pages;
            if (*(volatile int *)(memory + page * PGSIZE) != (int)page)
                fatal("%s page %lu does not hold its number\n", name, page);
        }
    printf("%s pages=%d set=%d phases=%d verdict=RIGHT\n", name, pages, set, phases);
    return 0;
}
