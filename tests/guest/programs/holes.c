/* 64 MiB with three pages touched: what each step costs, in parent and child. */

#include "report.h"

#define BYTES (64 << 20)

static char *page(char *heap, int number) {
    return heap + (uint64)number * PGSIZE;
}

int main(void) {
    char *heap = sbrk(BYTES);
    int start = mapped(), frames = used();
    say("heap", (long)heap);
    say("promised", mapped() - start);
    *(volatile char *)page(heap, 0) = 1;
    *(volatile char *)page(heap, 8191) = 2;
    *(volatile char *)page(heap, 16383) = 3;
    say("touched", mapped() - start);
    say("touched_used", used() - frames);
    int before = used();
    if (child()) {
        say("fork_used", used() - before);
        int mine = mapped();
        say("child_reads", *(volatile char *)page(heap, 5000));
        say("child_mapped", mapped() - mine);
        say("child_sees", *(volatile char *)page(heap, 16383));
        exit(0);
    }
    status_of_child();
    say("parent_mapped", mapped() - start);
    before = used();
    sbrk(-BYTES);
    say("given_back", before - used());
    say("left", mapped() - start);
    return 0;
}
