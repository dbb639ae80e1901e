/* lazytest: what a process may expect of sbrk when pages come on first touch.
 *
 * Every test but the first also holds when sbrk allocates at once; the first needs twice the
 * memory that the lab machine has. xv6 lab: user/lazytests.c */

#include "check.h"
#include "user.h"

#define MIB (1 << 20)
#define GIB (1 << 30)
#define TRAPFRAME 0x3FFFFFE000ul /* the break ends here at the latest */

int main(void);

static void test_oversubscription(void) {
    begin("Proof of laziness (Oversubscribe physical memory)");
    volatile char *memory = sbrk(256 * MIB);
    check(memory != MAP_FAILED, "Eager allocation detected! sbrk failed on 256MB request.");
    memory[0] = 'a';
    memory[256 * MIB - 1] = 'z';
    check(memory[0] == 'a' && memory[256 * MIB - 1] == 'z', "first or last page lost its byte");
    shrink(256 * MIB);
    pass("lazy proof (oversubscription)");
}

static void test_basic(void) {
    begin("Basic sbrk + write/read");
    volatile char *page = grow(PGSIZE);
    for (int i = 0; i < PGSIZE; i++)
        page[i] = (char)(i * 7);
    for (int i = 0; i < PGSIZE; i++)
        check(page[i] == (char)(i * 7), "pattern differs");
    shrink(PGSIZE);
    pass("basic sbrk + write/read");
}

static void test_multi_page(void) {
    begin("Large allocation (multi-page)");
    volatile char *pages = grow(10 * PGSIZE);
    for (int i = 0; i < 10; i++)
        pages[i * PGSIZE] = (char)('0' + i);
    for (int i = 0; i < 10; i++)
        check(pages[i * PGSIZE] == '0' + i, "a page's first byte differs");
    shrink(10 * PGSIZE);
    pass("large multi-page allocation");
}

static void test_backwards(void) {
    begin("Non-sequential page access");
    volatile char *pages = grow(8 * PGSIZE);
    for (int i = 7; i >= 0; i--)
        pages[i * PGSIZE + 8 * i] = (char)('A' + i);
    for (int i = 0; i < 8; i++)
        check(pages[i * PGSIZE + 8 * i] == 'A' + i, "a page's byte differs");
    shrink(8 * PGSIZE);
    pass("non-sequential page access");
}

static void test_shrink(void) {
    begin("Shrink with negative sbrk");
    volatile char *pages = grow(2 * PGSIZE);
    pages[0] = 'k', pages[PGSIZE] = 'g';
    shrink(PGSIZE);
    check(sbrk(0) == pages + PGSIZE, "the break did not move back by one page");
    check(pages[0] == 'k', "the page that stays lost its byte");
    shrink(PGSIZE);
    pass("shrink with negative sbrk");
}

static void test_fork(void) {
    begin("Fork inherits lazy-allocated memory");
    volatile char *page = grow(PGSIZE);
    page[0] = 'x', page[PGSIZE - 1] = 'y';
    if (fork_or("fork failed") == 0) {
        if (page[0] != 'x' || page[PGSIZE - 1] != 'y')
            exit(1);
        volatile char *more = sbrk(PGSIZE);
        if (more == MAP_FAILED)
            exit(2);
        more[0] = 'c';
        exit(more[0] != 'c');
    }
    check(child_status() == 0, "the child saw other bytes, or could not grow");
    check(page[0] == 'x' && page[PGSIZE - 1] == 'y', "the parent's bytes changed");
    shrink(PGSIZE);
    pass("fork inherits lazy pages");
}

static void test_break(void) {
    begin("sbrk(0) returns current break");
    volatile char *before = sbrk(0);
    check(grow(3 * PGSIZE) == before, "sbrk did not return the old break");
    check(sbrk(0) == before + 3 * PGSIZE, "the break is not where it should be");
    shrink(3 * PGSIZE);
    check(sbrk(0) == before, "the break did not come back");
    pass("sbrk(0) returns current break");
}

static void test_guard_page(void) {
    begin("Guard page fault kills child without panicking kernel");
    if (fork_or("fork failed") == 0) {
        int on_stack;
        uint64 stack_page = (uint64)&on_stack & ~(uint64)(PGSIZE - 1);
        *(volatile char *)(stack_page - 8) = 1;
        exit(0);
    }
    check(child_status() != 0, "the child wrote below its stack and lived");
    pass("guard page fault handled as kill");
}

static void test_text(void) {
    begin("Text write fault kills child without panicking kernel");
    if (fork_or("fork failed") == 0) {
        *(volatile char *)(uint64)main = 0;
        exit(0);
    }
    check(child_status() != 0, "the child wrote to its text and lived");
    pass("text write protection fault handled as kill");
}

/* Grow up to TRAPFRAME, to the byte; then one page more. 0 when only that is refused. */
static int grow_to_the_end(void) {
    for (;;) {
        uint64 room = TRAPFRAME - (uint64)sbrk(0);
        if (room == 0)
            break;
        if (sbrk(room < GIB ? (int)room : GIB) == MAP_FAILED)
            return 2;
    }
    if (sbrk(PGSIZE) != MAP_FAILED)
        return 3;
    return (uint64)sbrk(0) == TRAPFRAME ? 0 : 4;
}

static void test_limit(void) {
    begin("Lazy sbrk stops at TRAPFRAME boundary");
    if (fork_or("fork failed") == 0)
        exit(grow_to_the_end());
    check(child_status() == 0, "the break did not stop at TRAPFRAME");
    pass("lazy sbrk rejects growth past TRAPFRAME");
}

int main(void) {
    banner("Lazy Allocation Test Suite", "========================================");
    test_oversubscription();
    test_basic();
    test_multi_page();
    test_backwards();
    test_shrink();
    test_fork();
    test_break();
    test_guard_page();
    test_text();
    test_limit();
    all_passed("All tests passed!");
    return 0;
}
