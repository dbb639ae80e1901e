/* malloc and free: blocks of many sizes come and go, each filled with a byte of its own. */

#include "report.h"

#define BLOCKS 32
#define ROUNDS 2000

static char *block[BLOCKS];
static int size[BLOCKS];
static long spoiled, crooked;

static void give_back(int i) {
    spoiled += others(block[i], size[i], (char)i);
    free(block[i]);
    block[i] = NULL;
}

static void take(int i, int bytes) {
    block[i] = malloc((uint64)bytes);
    size[i] = bytes;
    crooked += (uint64)block[i] % 16 != 0;
    memset(block[i], i, (uint64)bytes);
}

int main(void) {
    uint state = 1;
    for (int round = 0; round < ROUNDS; round++) {
        int i = (int)((state = state * 1664525 + 1013904223) >> 27);
        if (block[i])
            give_back(i);
        else
            take(i, (int)(state >> 12 & 2047));
    }
    for (int i = 0; i < BLOCKS; i++)
        if (block[i])
            give_back(i);
    char *end = sbrk(0);
    free(malloc(8 * PGSIZE)); /* fits where small blocks were, which have become one again */
    say("grown", (char *)sbrk(0) - end);
    say("spoiled", spoiled);
    say("crooked", crooked);
    for (uint64 bytes = ~0ul; bytes >= 1ul << 31; bytes /= 2)
        spoiled += malloc(bytes) != NULL;
    say("too_large", spoiled);
    return 0;
}
