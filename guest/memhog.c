/* memhog [PAGES]: take memory page by page until there are PAGES, or no more; say how far it came.
 *
 * A child does the taking, since with lazy allocation whoever touches one page too many is
 * killed and tells nobody. It reports through a pipe, a byte a page and STEP pages a write;
 * the parent counts. Exit status 0: all PAGES were had, 1: memory ran out first. */

#include "user.h"

#define STEP 64
#define KILLED (-1)

static char buffer[STEP];

/* In the child. Status 0: all pages, 1: sbrk refused. Being killed is the third way to end. */
static int take(uint64 pages, int report) {
    int untold = 0, refused = 0;
    for (uint64 taken = 0; taken < pages; taken++) {
        volatile char *page = sbrk(PGSIZE);
        refused = page == MAP_FAILED;
        if (refused)
            break;
        *page = 1;
        if (++untold == STEP) {
            write(report, buffer, STEP);
            untold = 0;
        }
    }
    write(report, buffer, untold);
    return refused;
}

static uint64 count(int report) {
    uint64 pages = 0;
    for (int n; (n = read(report, buffer, sizeof buffer)) > 0;)
        pages += (uint64)n;
    return pages;
}

int main(int argc, char **argv) {
    uint64 wanted = ~0ul;
    int ends[2], status = 0;
    if (argc > 2 || (argc == 2 && (!parse_uint(argv[1], 0x7fffffff, &wanted) || wanted == 0)))
        fatal("usage: memhog [PAGES]\n");
    if (pipe(ends) < 0)
        fatal("memhog: pipe failed\n");
    int pid = fork();
    if (pid < 0)
        fatal("memhog: fork failed\n");
    if (pid == 0) {
        close(ends[0]);
        exit(take(wanted, ends[1]));
    }
    close(ends[1]);
    uint64 pages = count(ends[0]);
    wait(&status);
    if (status == 0)
        printf("memhog: got all %lu pages (%lu KiB)\n", pages, pages * 4);
    else if (status == KILLED)
        printf("memhog: killed after at least %lu pages (%lu KiB)\n", pages, pages * 4);
    else
        printf("memhog: sbrk refused after %lu pages (%lu KiB)\n", pages, pages * 4);
    return status != 0;
}
