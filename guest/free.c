/* free: the machine's memory, in pages and KiB. Page tables and kernel stacks count as used. */

#include "user.h"

static void row(const char *name, int pages) {
    printf("%-6s %10d %10d\n", name, pages, pages * (PGSIZE / 1024));
}

int main(int argc, char **argv) {
    struct memstat now;
    if (argc > 1)
        fatal("free: unexpected argument %s\nusage: free\n", argv[1]);
    if (memstat(&now) < 0)
        fatal("free: memstat failed\n");
    printf("%-6s %10s %10s\n", "", "PAGES", "KIB");
    row("total", now.used_pages + now.free_pages);
    row("used", now.used_pages);
    row("free", now.free_pages);
    return 0;
}
