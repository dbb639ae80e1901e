/* What the programs that differ under schedulers share: they compute for so long, and look at the clock. */
#ifndef NEXEMU_COMPUTE_H
#define NEXEMU_COMPUTE_H

#include "user.h"

#define TURNS 500 /* of a loop of two instructions, which is a thousand */

/* Run for `thousands` times a thousand instructions. */
static inline void compute(int thousands) {
    uint64 turns = (uint64)thousands * TURNS;
    __asm__ volatile("1: addi %0, %0, -1\n"
                     "   bnez %0, 1b"
                     : "+r"(turns));
}

/* Virtual time, in cycles. */
static inline uint64 now(void) {
    uint64 cycles;
    __asm__ volatile("rdtime %0" : "=r"(cycles));
    return cycles;
}

#endif
