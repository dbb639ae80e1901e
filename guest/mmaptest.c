/* mmaptest: anonymous and file-backed private mappings, and what fork makes of them. */

#include "check.h"
#include "user.h"

#define FILE_SIZE 4413 /* more than one page, and no multiple of one */

static char text[FILE_SIZE];

static char expected(int i) {
    return (char)('a' + i % 26);
}

static void make_file(const char *path) {
    for (int i = 0; i < FILE_SIZE; i++)
        text[i] = expected(i);
    int fd = open(path, O_CREATE | O_TRUNC | O_WRONLY);
    check(fd >= 0, "cannot create the file");
    check(write(fd, text, FILE_SIZE) == FILE_SIZE, "cannot write the file");
    close(fd);
}

/* The file at `path`, mapped; its descriptor is closed again, the mapping must keep it. */
static volatile char *map_file(const char *path) {
    int fd = open(path, O_RDONLY);
    check(fd >= 0, "cannot open the file");
    char *memory = mmap(NULL, FILE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
    check(memory != MAP_FAILED, "mmap of a file failed");
    close(fd);
    return memory;
}

static int holds_file(const volatile char *memory) {
    for (int i = 0; i < FILE_SIZE; i++)
        if (memory[i] != expected(i))
            return 0;
    for (int i = FILE_SIZE; i < 2 * PGSIZE; i++)
        if (memory[i] != 0)
            return 0;
    return 1;
}

static void unmap(volatile char *memory, uint64 length) {
    check(munmap((void *)memory, length) == 0, "munmap failed");
}

static void test_anonymous(void) {
    begin("anonymous private mmap");
    char *mapped = mmap(NULL, 2 * PGSIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    check(mapped != MAP_FAILED, "mmap failed");
    volatile char *memory = mapped;
    check(memory[0] == 0 && memory[2 * PGSIZE - 1] == 0, "new memory is not zero");
    memory[0] = 'm', memory[PGSIZE] = 'n';
    check(memory[0] == 'm' && memory[PGSIZE] == 'n', "a byte was lost");
    volatile char *heap = grow(PGSIZE);
    heap[0] = 'h';
    check(heap[0] == 'h' && memory[0] == 'm', "heap and mapping overlap");
    shrink(PGSIZE);
    unmap(memory, 2 * PGSIZE);
    check(munmap(mapped, 2 * PGSIZE) < 0, "a second munmap succeeded");
    pass("anonymous mmap");
}

static void test_file(void) {
    begin("file-backed private mmap");
    make_file("/mmap.data");
    volatile char *memory = map_file("/mmap.data");
    check(unlink("/mmap.data") == 0, "cannot unlink the mapped file");
    check(holds_file(memory), "the mapping does not show the file");
    unmap(memory, FILE_SIZE);
    check(open("/mmap.data", O_RDONLY) < 0, "the unlinked file is still there");
    pass("file-backed mmap");
}

static void test_fork(void) {
    begin("fork inherits mmap metadata");
    make_file("/mmap.fork");
    volatile char *memory = map_file("/mmap.fork");
    if (fork_or("fork failed") == 0)
        exit(!holds_file(memory)); /* untouched so far: the child's own faults fill the pages */
    check(child_status() == 0, "the child does not see the file");
    check(holds_file(memory), "the parent does not see the file");
    unmap(memory, FILE_SIZE);
    check(unlink("/mmap.fork") == 0, "cannot unlink the file");
    pass("fork and mmap");
}

int main(void) {
    banner("mmap Test Suite", "==============================");
    test_anonymous();
    test_file();
    test_fork();
    all_passed("All mmap tests passed");
    return 0;
}
