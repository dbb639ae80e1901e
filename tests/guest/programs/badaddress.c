/* One child for each bad address: all must die, and cost nothing in the end. */

#include "report.h"

#define MAXVA (1ul << 38)

static volatile char *good;

static void expect(const char *name, volatile char *address, int store) {
    int before = used();
    if (child()) {
        if (store)
            *address = 1;
        else
            (void)*address;
        exit(0);
    }
    say(name, status_of_child());
    if (used() != before)
        say("lost", used() - before);
}

int main(void) {
    int on_stack = 0;
    volatile char *stack = (volatile char *)((uint64)&on_stack & ~(uint64)(PGSIZE - 1));
    good = sbrk(PGSIZE);
    *good = 1;
    expect("warm_up", good, 1); /* the first child's cost stays: the parent's pages are marked shared */
    volatile char *end = sbrk(0);
    expect("last_byte", end - 1, 1);
    expect("load_last_byte", end - 1, 0);
    expect("at_break", end, 1);
    expect("load_at_break", end, 0);
    expect("far", good + (1ul << 32), 0);
    expect("below_stack", stack - 8, 1);
    expect("load_below_stack", stack - 8, 0);
    expect("null", (volatile char *)0x33, 1);
    expect("load_null", (volatile char *)0x33, 0);
    expect("maxva_less_1", (volatile char *)(MAXVA - 1), 0);
    expect("maxva", (volatile char *)MAXVA, 0);
    expect("sign", (volatile char *)(1ul << 63), 1);
    expect("minus_1", (volatile char *)~0ul, 0);
    expect("trampoline", (volatile char *)(MAXVA - PGSIZE), 0);
    expect("trapframe", (volatile char *)(MAXVA - 2 * PGSIZE), 1);
    return 0;
}
