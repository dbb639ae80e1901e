/* sbrk at its edges. Addresses are relative to the first break. */

#include "report.h"

static char *base;

static void move(const char *name, int n) {
    char *old = sbrk(n);
    say(name, old == MAP_FAILED ? -1 : old - base);
}

int main(void) {
    base = sbrk(0);
    say("aligned", (uint64)base % PGSIZE);
    move("up", 100);
    move("down", -100);
    move("back", 0);
    move("int_min", -0x7fffffff - 1);
    move("below_zero", -(int)(uint64)base - 1);
    move("still", 0);
    move("grow", 2 * PGSIZE);
    memset(base, 'f', 2 * PGSIZE);
    int before = used(), pages = mapped();
    move("shrink", -PGSIZE);
    say("frames_back", before - used());
    say("mapped_back", pages - mapped());
    move("regrow", PGSIZE);
    say("first", others(base, PGSIZE, 'f'));
    say("second", others(base + PGSIZE, PGSIZE, 0));
    before = used();
    move("less_one", -1);
    move("more_one", 1);
    say("frames_moved", used() - before);
    say("kept", others(base, PGSIZE, 'f'));
    move("inside", -PGSIZE - 10);
    say("part", others(base, PGSIZE - 10, 'f'));
    move("outside", 10);
    say("tail", others(base + PGSIZE - 10, 10, 'f'));
    return 0;
}
