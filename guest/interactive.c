/* interactive [BURSTS [THOUSANDS]]: BURSTS times (10), sleep for a tick and compute for THOUSANDS times a
 * thousand instructions (5), as a program that waits for its user does.
 *
 * It prints for how long it waited for the hart when it wanted to run: in microseconds of virtual
 * time (a tick is 100,000), on average and at worst. Exit status 0. */

#include "user.h"

#define CYCLES_PER_TICK 1000000ul
#define CYCLES_PER_US 10
#define TURNS 500 /* of a loop of two instructions, which is a thousand */

static uint64 now(void) {
    uint64 cycles;
    __asm__ volatile("rdtime %0" : "=r"(cycles));
    return cycles;
}

static void compute(int thousands) {
    uint64 turns = (uint64)thousands * TURNS;
    __asm__ volatile("1: addi %0, %0, -1\n"
                     "   bnez %0, 1b"
                     : "+r"(turns));
}

static int argument(const char *text, const char *what) {
    int value = atoi(text);
    if (value < 1 || value > 100000)
        fatal("interactive: %s must be 1 to 100000, not %s\n", what, text);
    return value;
}

int main(int argc, char **argv) {
    if (argc > 3)
        fatal("usage: interactive [BURSTS [THOUSANDS]]\n");
    int bursts = argc > 1 ? argument(argv[1], "BURSTS") : 10;
    int thousands = argc > 2 ? argument(argv[2], "THOUSANDS") : 5;
    uint64 sum = 0, worst = 0, before = now();
    for (int burst = 0; burst < bursts; burst++) {
        sleep(1); /* until a tick: what is beyond it was waited for */
        uint64 woken = now(), waited = woken % CYCLES_PER_TICK;
        if (woken - before >= 2 * CYCLES_PER_TICK)
            waited = woken - before - CYCLES_PER_TICK; /* whole ticks went by */
        before = woken;
        sum += waited;
        worst = waited > worst ? waited : worst;
        compute(thousands);
    }
    printf("[interactive] bursts=%d mean_wait_us=%lu worst_wait_us=%lu\n", bursts,
           sum / (uint64)bursts / CYCLES_PER_US, worst / CYCLES_PER_US);
    return 0;
}
