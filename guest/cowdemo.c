/* cowdemo [PAGES [WRITE]]: what fork and the first writes after it cost, in pages.
 *
 * The parent fills PAGES pages (64) and forks; the child writes WRITE of them (16). The machine's
 * used_pages tells how many frames each step took. A fork costs some frames anyway (trapframe,
 * page tables, the stack); a first fork, before there is anything to share, measures those, and
 * what the second takes beyond that is copies of the pages.
 * Exit status 0 when the pages were copied either all by fork or each by its first write. */

#include "user.h"

#define MAX_PAGES 0x7ffff /* sbrk takes an int of bytes */
#define TABLE_SPAN_SHIFT 21 /* one last-level page table maps 2 MiB */

static const char name[] = "[cowdemo]";
static const char usage[] = "usage: cowdemo [PAGES [WRITE]]";

/* Frames taken, and whether the child saw the data that it should. */
struct costs {
    int fork, write, data_ok;
};

/* The first call may itself take a frame: after fork, its answer is written to a shared stack. */
static int used_pages(void) {
    struct memstat now;
    if (memstat(&now) < 0 || memstat(&now) < 0)
        fatal("%s memstat failed\n", name);
    return now.used_pages;
}

static volatile int *word(char *memory, int page) {
    return (volatile int *)(memory + (uint64)page * PGSIZE);
}

/* How many of the pages from `first` on do not hold `offset` + their number. */
static int wrong_pages(char *memory, int first, int pages, int offset) {
    int wrong = 0;
    for (int page = first; page < pages; page++)
        wrong += *word(memory, page) != page + offset;
    return wrong;
}

/* Fork; the child writes to `write_count` of `pages` pages and says what both steps cost. */
static struct costs fork_and_write(char *memory, int pages, int write_count) {
    struct costs costs = {0, 0, 0};
    int ends[2];
    if (pipe(ends) < 0)
        fatal("%s pipe failed\n", name);
    int before = used_pages();
    int pid = fork();
    if (pid < 0)
        fatal("%s fork failed: no memory for a second process of %d pages\n", name, pages);
    if (pid == 0) {
        costs.fork = used_pages() - before;
        for (int page = 0; page < write_count; page++)
            *word(memory, page) = page + 1000;
        costs.write = used_pages() - before - costs.fork;
        costs.data_ok = !wrong_pages(memory, 0, write_count, 1000) && !wrong_pages(memory, write_count, pages, 0);
        write(ends[1], &costs, sizeof costs);
        exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &costs, sizeof costs) != sizeof costs)
        fatal("%s the child died before it could tell\n", name);
    close(ends[0]);
    wait(NULL);
    return costs;
}

static int tables(const char *end) {
    return (int)(((uint64)end - 1) >> TABLE_SPAN_SHIFT);
}

static int verdict(int pages, int written, int copied_by_fork, int copied_by_write) {
    if (copied_by_fork == 0 && copied_by_write == written)
        printf("%s verdict=COW_STYLE fork copied no page; each first write copied one\n", name);
    else if (copied_by_fork == pages && copied_by_write == 0)
        printf("%s verdict=COPY_STYLE fork copied every page; writing copied none\n", name);
    else
        fatal("%s verdict=UNEXPECTED pages were copied at neither moment\n", name);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 3)
        fatal("%s\n", usage);
    int pages = argc > 1 ? parse_int(argv[1], 1, MAX_PAGES, "PAGES", usage) : 64;
    int written = argc > 2 ? parse_int(argv[2], 1, pages, "WRITE", usage) : (pages + 3) / 4;

    sleep(1); /* used_pages counts everybody's: let the rest of a pipeline come to rest first */
    printf("%s pages=%d written_by_child=%d\n", name, pages, written);
    struct costs bare = fork_and_write(NULL, 0, 0);
    char *memory = sbrk(pages * PGSIZE);
    if (memory == MAP_FAILED)
        fatal("%s sbrk failed for %d pages\n", name, pages);
    for (int page = 0; page < pages; page++)
        *word(memory, page) = page;
    int more_tables = tables(memory + (uint64)pages * PGSIZE) - tables(memory);

    struct costs costs = fork_and_write(memory, pages, written);
    int copied = costs.fork - bare.fork - more_tables;
    printf("%s fork        shared_pages=%d copied_pages=%d\n", name, pages - copied, copied);
    printf("%s child_write shared_pages=%d copied_pages=%d\n", name, pages - copied - costs.write,
           copied + costs.write);
    if (!costs.data_ok || wrong_pages(memory, 0, pages, 0))
        fatal("%s verdict=BROKEN parent and child see each other's writes\n", name);
    return verdict(pages, written, copied, costs.write);
}
