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

int main(int argc, char **argv) {
    if (argc > 4)
        fatal("%s\n", usage);
    int pages = argc > 1 ? parse_int(argv[1], 1, MAX_PAGES, "PAGES", usage) : 512;
    int set = argc > 2 ? parse_int(argv[2], 1, pages, "SET", usage) : pages < 32 ? pages : 32;
    int phases = argc > 3 ? parse_int(argv[3], 1, 1000000, "PHASES", usage) : 8;
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
