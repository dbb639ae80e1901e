/* A path whose last character is the last byte of a page; its NUL lies on the next, untouched one. */

#include "report.h"

int main(void) {
    static const char path[] = "/echo";
    int length = sizeof path - 1;
    char *page = sbrk(2 * PGSIZE);
    for (int i = 0; i < length; i++)
        page[PGSIZE - length + i] = path[i];
    int before = mapped();
    say("fd", open(page + PGSIZE - length, O_RDONLY));
    say("mapped", mapped() - before);

    /* and one that runs off the break: no NUL anywhere */
    char *end = sbrk(PGSIZE);
    memset(end, 'x', PGSIZE);
    say("endless", open(end + PGSIZE - 10, O_RDONLY));
    say("in_kernel_half", open((char *)(1ul << 63), O_RDONLY));
    return 0;
}
