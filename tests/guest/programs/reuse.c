/* A frame that one process gave back and another got: the first must never read the other's byte. */

#include "report.h"

int main(void) {
    int there[2], back[2];
    char go;
    pipe(there);
    pipe(back);
    if (child()) {
        read(there[0], &go, 1);
        char *heap = sbrk(64 * PGSIZE);
        memset(heap, 'S', 64 * PGSIZE); /* gets the frames that the other gave back */
        write(back[1], "!", 1);
        read(there[0], &go, 1);
        exit(others(heap, 64 * PGSIZE, 'S'));
    }
    if (child()) {
        volatile char *heap = sbrk(64 * PGSIZE);
        for (int i = 0; i < 64; i++)
            heap[i * PGSIZE] = 'm';
        sbrk(-64 * PGSIZE);
        write(there[1], "!", 1);
        read(back[0], &go, 1);
        exit(heap[0] == 'S' ? 66 : 67); /* must die here */
    }
    say("reader", status_of_child());
    write(there[1], "!", 1);
    say("owner", status_of_child());
    return 0;
}
