/* thrash [PAGES [ROUNDS]]: walk over PAGES pages (256) in a circle, ROUNDS times (4), and check every byte.
 *
 * With fewer frames than PAGES and least-recently-used replacement, each page leaves just before
 * it is needed: the machine does nothing but move pages. With enough frames, nothing moves.
 * Run it with `nexemu run --frames N --swap SIZE --stats`. Exit status 0: every byte was right. */

#include "user.h"

#define MAX_PAGES 0x7ffff /* sbrk takes an int of bytes */
#define WORDS (PGSIZE / sizeof(uint64))

static const char name[] = "[thrash]";
static const char usage[] = "usage: thrash [PAGES [ROUNDS]]";

/* What word `at` of page `page` holds after `round` rounds. */
static uint64 expected(uint64 page, uint64 at, uint64 round) {
    return (page << 32 ^ at * 0x9e3779b97f4a7c15ul) + round;
}

static int page_is_right(const uint64 *page, uint64 number, uint64 round) {
    for (uint64 at = 0; at < WORDS; at++)
        if (page[at] != expected(number, at, round))
            return 0;
    return 1;
}

static void fill(uint64 *page, uint64 number, uint64 round) {
    for (uint64 at = 0; at < WORDS; at++)
        page[at] = expected(number, at, round);
}

int main(int argc, char **argv) {
    if (argc > 3)
        fatal("%s\n", usage);
    uint64 pages = (uint64)(argc > 1 ? parse_int(argv[1], 1, MAX_PAGES, "PAGES", usage) : 256);
    uint64 rounds = (uint64)(argc > 2 ? parse_int(argv[2], 1, 1000000, "ROUNDS", usage) : 4);
    uint64 *memory = sbrk((int)(pages * PGSIZE));
    if (memory == MAP_FAILED)
        fatal("%s sbrk failed for %lu pages\n", name, pages);
    for (uint64 round = 0; round < rounds; round++)
        for (uint64 page = 0; page < pages; page++) {
            uint64 *here = memory + page * WORDS;
            if (round > 0 && !page_is_right(here, page, round - 1))
                fatal("%s page %lu is wrong in round %lu\n", name, page, round);
            fill(here, page, round);
        }
    printf("%s pages=%lu rounds=%lu verdict=RIGHT\n", name, pages, rounds);
    return 0;
}
