/* A path of a mebibyte, of one name or of many, for every call that takes one. */

#include "user.h"

enum { LENGTH_OF_PATH = 1 << 20 };

static int refused(char *path) {
    char *argv[] = {path, NULL}, *other[] = {"echo", path, NULL};
    return (open(path, O_RDONLY) == -1) + (open(path, O_CREATE | O_RDWR) == -1) + (mkdir(path) == -1) +
           (chdir(path) == -1) + (unlink(path) == -1) + (link(path, "/x") == -1) + (link("/init", path) == -1) +
           (exec(path, argv) == -1) + (exec("/echo", other) == -1);
}

int main(void) {
    char *path = sbrk(LENGTH_OF_PATH + 1);
    struct memstat before, after;
    memset(path, 'a', LENGTH_OF_PATH);
    printf("name=%d\n", refused(path));
    for (int i = 0; i < LENGTH_OF_PATH; i += 2)
        path[i] = '/';
    printf("names=%d\n", refused(path));
    memset(path, '/', LENGTH_OF_PATH);
    printf("slashes=%d\n", refused(path));
    path = (char *)(((uint64)sbrk(3 * PGSIZE) + PGSIZE - 1) & ~(PGSIZE - 1ul)) + PGSIZE - MAXPATH;
    memset(path, 'a', MAXPATH); /* up to the end of a page; the NUL would be on the next, untouched one */
    memstat(&before);
    printf("by_one=%d\n", refused(path));
    memstat(&after);
    printf("touched=%d\n", after.proc_mapped_pages - before.proc_mapped_pages);
    return 0;
}
