/* A child writes to more shared pages than there are free frames: it dies, the parent's data is whole. */

#include "report.h"

int main(void) {
    memstat(&now);
    int pages = now.free_pages * 3 / 5; /* they fit once, and not twice */
    char *heap = sbrk(pages * PGSIZE);
    for (int page = 0; page < pages; page++)
        *(volatile int *)(heap + (uint64)page * PGSIZE) = page;
    memstat(&now);
    int frames = now.free_pages, used_before = now.used_pages;
    int pid = fork();
    if (pid == 0) {
        for (int page = 0; page < pages; page++)
            *(volatile int *)(heap + (uint64)page * PGSIZE) = -1;
        exit(0);
    }
    say("pid", pid > 0 ? 1 : pid);
    say("short", pages - frames > 0);
    if (pid > 0)
        say("child", status_of_child());
    int wrong = 0;
    for (int page = 0; page < pages; page++)
        wrong += *(volatile int *)(heap + (uint64)page * PGSIZE) != page;
    say("wrong", wrong);
    say("lost", used() - used_before);
    return 0;
}
