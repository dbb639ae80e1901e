/* Loads and stores after everything that empties the TLB: refills, not page faults. */

#include "report.h"

int main(void) {
    char *heap = sbrk(8 * PGSIZE);
    for (int i = 0; i < 8; i++)
        heap[i * PGSIZE] = 1;
    uptime(); /* the host counts from here */
    for (int round = 0; round < 3; round++) {
        sbrk(PGSIZE);
        sbrk(-PGSIZE);
        for (int i = 0; i < 8; i++)
            ((volatile char *)heap)[i * PGSIZE] += 1;
    }
    uptime(); /* to here */
    return heap[7 * PGSIZE] - 4;
}
