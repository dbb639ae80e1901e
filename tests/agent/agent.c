/* The agent: does one thing after another, as whoever drives the machine tells it.
 *
 * An order comes through the registers s2 to s8 while the agent is inside yield(), and what came of
 * the last one leaves through s1; so giving orders touches no memory. The agent itself uses one
 * page, its stack, and stores to it before it asks: when it waits for an order, that page is its
 * own. Everything that an order does is done by real loads, stores and system calls. */

#include "user.h"

enum { CALL, LOAD, STORE, EXEC }; /* s2; s3 is the number of a call, or the size of an access */

static char *const arguments[] = {"agent", NULL};

static uint64 load(uint64 size, uint64 address) {
    switch (size) {
    case 1:
        return *(volatile uint8 *)address;
    case 2:
        return *(volatile ushort *)address;
    case 4:
        return *(volatile uint *)address;
    default:
        return *(volatile uint64 *)address;
    }
}

static uint64 store(uint64 size, uint64 address, uint64 value) {
    switch (size) {
    case 1:
        *(volatile uint8 *)address = (uint8)value;
        break;
    case 2:
        *(volatile ushort *)address = (ushort)value;
        break;
    case 4:
        *(volatile uint *)address = (uint)value;
        break;
    default:
        *(volatile uint64 *)address = value;
    }
    return 0;
}

static uint64 call(uint64 number, uint64 p, uint64 q, uint64 r, uint64 s, uint64 t) {
    register uint64 a0 __asm__("a0") = p;
    register uint64 a1 __asm__("a1") = q;
    register uint64 a2 __asm__("a2") = r;
    register uint64 a3 __asm__("a3") = s;
    register uint64 a4 __asm__("a4") = t;
    register uint64 a5 __asm__("a5") = 0;
    register uint64 a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

int main(void) {
    register uint64 result __asm__("s1") = 0;
    uint64 own_page;
    for (;;) {
        register uint64 order __asm__("s2");
        register uint64 what __asm__("s3");
        register uint64 a __asm__("s4");
        register uint64 b __asm__("s5");
        register uint64 c __asm__("s6");
        register uint64 d __asm__("s7");
        register uint64 e __asm__("s8");
        register uint64 a0 __asm__("a0");
        register uint64 a7 __asm__("a7") = SYS_yield;
        *(volatile uint64 *)&own_page = result;
        __asm__ volatile("ecall"
                     : "=r"(a0), "+r"(result), "=r"(order), "=r"(what), "=r"(a), "=r"(b), "=r"(c),
                       "=r"(d), "=r"(e)
                     : "r"(a7)
                     : "memory");
        if (order == CALL)
            result = call(what, a, b, c, d, e);
        else if (order == LOAD)
            result = load(what, a);
        else if (order == STORE)
            result = store(what, a, b);
        else
            result = (uint64)exec("/agent", (char **)arguments);
    }
}
