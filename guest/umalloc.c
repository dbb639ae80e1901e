/* malloc and free: a circular list of free blocks, sorted by address, as in Kernighan and
 * Ritchie, section 8.7. Sizes are in units of one header, which keeps blocks aligned to 16.
 *
 * xv6: user/umalloc.c */

#include "user.h"

#define GROW_UNITS 256u /* the least to ask of the kernel: one page */

struct header {
    struct header *next;
    uint64 units; /* the header's own unit included */
};

static struct header base;
static struct header *freep; /* where the last search ended; NULL before the first */

static int between(struct header *p, struct header *block) {
    if (p >= p->next) /* the end of the list, where addresses wrap */
        return block > p || block < p->next;
    return p < block && block < p->next;
}

void free(void *memory) {
    if (!memory)
        return;
    struct header *block = (struct header *)memory - 1;
    struct header *p = freep;
    while (!between(p, block))
        p = p->next;
    block->next = p->next;
    if (block + block->units == p->next) {
        block->units += p->next->units;
        block->next = p->next->next;
    }
    p->next = block;
    if (p + p->units == block) {
        p->units += block->units;
        p->next = block->next;
    }
    freep = p;
}

static struct header *more(uint64 units) {
    if (units < GROW_UNITS)
        units = GROW_UNITS;
    if (units > 0x7fffffff / sizeof(struct header)) /* sbrk takes an int */
        return NULL;
#ifdef ABI_XV6
    struct header *block = sbrk((int)(units * sizeof(struct header)), SBRK_EAGER);
#else
    struct header *block = sbrk((int)(units * sizeof(struct header)));
#endif
    if (block == MAP_FAILED)
        return NULL;
    block->units = units;
    free(block + 1);
    return freep;
}

void *malloc(uint64 size) {
    uint64 units = size / sizeof(struct header) + (size % sizeof(struct header) != 0) + 1;
    if (!freep) {
        base = (struct header){&base, 0};
        freep = &base;
    }
    for (struct header *before = freep, *p = before->next;; before = p, p = p->next) {
        if (p->units >= units) {
            if (p->units == units) {
                before->next = p->next;
            } else {
                p->units -= units;
                p += p->units;
                p->units = units;
            }
            freep = before;
            return p + 1;
        }
        if (p == freep && !(p = more(units)))
            return NULL;
    }
}
