/* lazydemo [RESERVE [TOUCH]]: what sbrk and first touches cost, in pages.
 *
 * It reserves RESERVE pages (256) with one sbrk, writes to the first TOUCH of them (64) and gives
 * all back, asking memstat at each step. Counts are relative to the start: virtual_pages of
 * address space, mapped_pages of this process, used_pages of the whole machine, with page tables.
 * Exit status 0 when pages were mapped either all by sbrk or each by its first touch. */

#include "user.h"

#define MAX_PAGES 0x7ffff /* sbrk takes an int of bytes */

static const char name[] = "[lazydemo]";
static const char usage[] = "usage: lazydemo [RESERVE [TOUCH]]";
static struct memstat start, now;

static int mapped(void) {
    return now.proc_mapped_pages - start.proc_mapped_pages;
}

static void look(struct memstat *at) {
    if (memstat(at) < 0)
        fatal("%s memstat failed\n", name);
}

static void show(const char *step) {
    look(&now);
    printf("%s %-9s virtual_pages=%d mapped_pages=%d used_pages=%d\n", name, step,
           now.proc_sz_pages - start.proc_sz_pages, mapped(), now.used_pages - start.used_pages);
}

static int verdict(int reserve, int touch, int after_sbrk, int after_touch) {
    if (after_sbrk == 0 && after_touch == touch)
        printf("%s verdict=LAZY_STYLE sbrk mapped nothing; each first touch mapped one page\n", name);
    else if (after_sbrk == reserve && after_touch == reserve)
        printf("%s verdict=EAGER_STYLE sbrk mapped every page; touching them mapped none\n", name);
    else
        fatal("%s verdict=UNEXPECTED pages were mapped at neither moment\n", name);
    return mapped() != 0;
}

int main(int argc, char **argv) {
    if (argc > 3)
        fatal("%s\n", usage);
    int reserve = argc > 1 ? parse_int(argv[1], 1, MAX_PAGES, "RESERVE", usage) : 256;
    int touch = argc > 2 ? parse_int(argv[2], 1, reserve, "TOUCH", usage) : (reserve + 3) / 4;

    sleep(1); /* used_pages counts everybody's: let the rest of a pipeline come to rest first */
    printf("%s reserve_pages=%d touch_pages=%d\n", name, reserve, touch);
    look(&start);
    volatile char *memory = sbrk(reserve * PGSIZE);
    if (memory == MAP_FAILED)
        fatal("%s sbrk failed for %d pages\n", name, reserve);
    show("sbrk");
    int after_sbrk = mapped();
    memory[0] = 1;
    show("touch 1");
    for (int page = 1; page < touch; page++)
        memory[page * PGSIZE] = 1;
    show("touch all");
    int after_touch = mapped();
    sbrk(-reserve * PGSIZE);
    show("give back");
    return verdict(reserve, touch, after_sbrk, after_touch);
}
