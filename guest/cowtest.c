/* cowtest: what a process may expect of fork when pages are shared until they are written.
 *
 * Tests 7 to 9, 11 and 12 hold more pages than a machine of 128 MiB could copy.
 * xv6 lab: user/cowtest.c */

#include "check.h"
#include "user.h"

#define MIB (1 << 20)
#define DEEP_COPY "fork failed under pressure; implementation looks like deep copy"

/* A page's first word. Volatile: each load and store is meant for the page table. */
static volatile int *mark(char *memory, int page) {
    return (volatile int *)(memory + (uint64)page * PGSIZE);
}

/* `bytes` of new memory with every page touched: its first word is its number. */
static char *resident(int bytes) {
    char *memory = grow(bytes);
    for (int page = 0; page < bytes / PGSIZE; page++)
        *mark(memory, page) = page;
    return memory;
}

static void check_marks(char *memory, int bytes, const char *otherwise) {
    for (int page = 0; page < bytes / PGSIZE; page++)
        check(*mark(memory, page) == page, otherwise);
}

static char *filled(int bytes, char byte) {
    char *memory = grow(bytes);
    memset(memory, byte, (uint64)bytes);
    return memory;
}

static int all_bytes(const char *memory, int bytes, char byte) {
    for (int i = 0; i < bytes; i++)
        if (memory[i] != byte)
            return 0;
    return 1;
}

static void test_read(void) {
    begin("Child reads what the parent wrote");
    char *page = filled(PGSIZE, 'R');
    if (fork_or("fork failed") == 0)
        exit(!all_bytes(page, PGSIZE, 'R'));
    check(child_status() == 0, "the child read other bytes");
    shrink(PGSIZE);
    pass("child reads shared page");
}

static void test_isolation(void) {
    begin("Child's writes stay with the child");
    char *page = filled(PGSIZE, 'P');
    if (fork_or("fork failed") == 0) {
        memset(page, 'C', PGSIZE);
        exit(!all_bytes(page, PGSIZE, 'C'));
    }
    check(child_status() == 0, "the child did not read back its own bytes");
    check(all_bytes(page, PGSIZE, 'P'), "the parent's page changed");
    shrink(PGSIZE);
    pass("parent unchanged by child's write");
}

static void test_three_children(void) {
    begin("Three children write to one page");
    char *page = filled(PGSIZE, 'P');
    for (int child = 0; child < 3; child++) {
        if (fork_or("fork failed") == 0) {
            page[child] = (char)('0' + child);
            exit(!all_bytes(page + child, 1, (char)('0' + child)) || !all_bytes(page + child + 1, 3, 'P'));
        }
    }
    for (int child = 0; child < 3; child++)
        check(child_status() == 0, "a child saw its sibling's byte");
    check(all_bytes(page, PGSIZE, 'P'), "the parent's page changed");
    shrink(PGSIZE);
    pass("siblings are isolated");
}

static void test_four_pages(void) {
    begin("Several pages");
    char *pages = resident(4 * PGSIZE);
    if (fork_or("fork failed") == 0) {
        for (int page = 0; page < 4; page++)
            *mark(pages, page) = 100 + page;
        exit(0);
    }
    check(child_status() == 0, "the child failed");
    check_marks(pages, 4 * PGSIZE, "the parent's pages changed");
    shrink(4 * PGSIZE);
    pass("several pages are isolated");
}

static void test_pipe_out(void) {
    begin("A shared page as the source of write()");
    char got[64];
    int fds[2];
    char *page = filled(PGSIZE, 'W');
    check(pipe(fds) == 0, "pipe failed");
    if (fork_or("fork failed") == 0) {
        memset(page, 'c', sizeof got);
        exit(write(fds[1], page, sizeof got) != sizeof got);
    }
    check(child_status() == 0, "the child could not write to the pipe");
    check(read(fds[0], got, sizeof got) == sizeof got, "the pipe gave another number of bytes");
    check(all_bytes(got, sizeof got, 'c'), "the pipe gave other bytes");
    check(all_bytes(page, PGSIZE, 'W'), "the parent's page changed");
    close(fds[0]);
    close(fds[1]);
    shrink(PGSIZE);
    pass("write() from a shared page");
}

static void test_every_other(void) {
    begin("Child writes every other of 16 pages");
    char *pages = resident(16 * PGSIZE);
    if (fork_or("fork failed") == 0) {
        for (int page = 0; page < 16; page += 2)
            *mark(pages, page) = -1;
        for (int page = 1; page < 16; page += 2)
            if (*mark(pages, page) != page)
                exit(1);
        exit(0);
    }
    check(child_status() == 0, "a page that the child left alone changed");
    check_marks(pages, 16 * PGSIZE, "the parent's pages changed");
    shrink(16 * PGSIZE);
    pass("copied and shared pages side by side");
}

static void test_large(void) {
    begin("Fork with 80 MiB resident");
    char *memory = resident(80 * MIB);
    if (fork_or(DEEP_COPY) == 0) {
        *mark(memory, 123) = -1;
        exit(*mark(memory, 123) != -1 || *mark(memory, 124) != 124);
    }
    check(child_status() == 0, "the child could not write one page");
    check_marks(memory, 80 * MIB, "the parent's pages changed");
    shrink(80 * MIB);
    pass("large fork copies only what is written");
}

static void test_two_at_once(void) {
    begin("Two children at once with 48 MiB resident");
    char *memory = resident(48 * MIB);
    char go;
    int gate[2];
    check(pipe(gate) == 0, "pipe failed");
    for (int child = 0; child < 2; child++) {
        if (fork_or(DEEP_COPY) == 0) {
            close(gate[1]);
            int n = read(gate[0], &go, 1); /* until the parent closes its end */
            exit(n != 0 || *mark(memory, 7) != 7);
        }
    }
    close(gate[0]);
    close(gate[1]);
    check(child_status() == 0 && child_status() == 0, "a child read other bytes");
    shrink(48 * MIB);
    pass("three owners of every page");
}

static void test_exit(void) {
    begin("Child's exit gives its references back");
    char *memory = resident(80 * MIB);
    if (fork_or(DEEP_COPY) == 0)
        exit(0);
    check(child_status() == 0, "the child failed");
    for (int page = 0; page < 80 * MIB / PGSIZE; page++)
        *mark(memory, page) += 0; /* a store: the last owner needs no new frame */
    check_marks(memory, 80 * MIB, "the parent's pages changed");
    shrink(80 * MIB);
    pass("last owner writes in place");
}

static void test_read_after_exit(void) {
    begin("read() into a page whose other owner is gone");
    int fds[2];
    char *page = filled(PGSIZE, 'P');
    check(pipe(fds) == 0, "pipe failed");
    if (fork_or("fork failed") == 0)
        exit(write(fds[1], "copied to", 9) != 9);
    check(child_status() == 0, "the child could not write to the pipe");
    check(read(fds[0], page, 9) == 9, "read() failed on the page");
    check(memcmp(page, "copied to", 9) == 0 && page[9] == 'P', "the page holds other bytes");
    close(fds[0]);
    close(fds[1]);
    shrink(PGSIZE);
    pass("copyout reuses the page");
}

/* The child reads `n` bytes from a pipe to `offset`, over pages that the parent still shares. */
static void child_reads_into(int offset, const char *text, int n) {
    char before[64];
    int fds[2];
    char *memory = resident(72 * MIB), *to = memory + offset;
    memcpy(before, to, (uint64)n);
    check(pipe(fds) == 0, "pipe failed");
    check(write(fds[1], text, n) == n, "cannot write to the pipe");
    if (fork_or(DEEP_COPY) == 0)
        exit(read(fds[0], to, n) != n || memcmp(to, text, (uint64)n) != 0);
    check(child_status() == 0, "read() into a shared page failed in the child");
    check(memcmp(to, before, (uint64)n) == 0, "the child's read() changed the parent's bytes");
    check_marks(memory, 72 * MIB, "the child's read() changed the parent's pages");
    close(fds[0]);
    close(fds[1]);
    shrink(72 * MIB);
}

static void test_read_while_shared(void) {
    begin("read() into a shared page");
    child_reads_into(5 * PGSIZE + 100, "kernel breaks COW.", 18);
    pass("copyout copies a shared page");
}

static void test_read_across_pages(void) {
    begin("read() across two shared pages");
    child_reads_into(9 * PGSIZE - 16, "sixteen bytes on each of 2 pages", 32);
    pass("copyout copies both pages");
}

int main(void) {
    banner("Copy-on-Write (COW) Test Suite", "========================================");
    test_read();
    test_isolation();
    test_three_children();
    test_four_pages();
    test_pipe_out();
    test_every_other();
    test_large();
    test_two_at_once();
    test_exit();
    test_read_after_exit();
    test_read_while_shared();
    test_read_across_pages();
    all_passed("All COW tests passed!");
    return 0;
}
