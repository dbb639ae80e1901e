/* interactive [BURSTS [THOUSANDS]]: BURSTS times (10), sleep for a tick and compute for THOUSANDS times a
 * thousand instructions (5), as a program that waits for its user does.
 *
 * It prints for how long it waited for the hart when it wanted to run: in microseconds of virtual
 * time (a tick is 100,000), on average and at worst. Exit status 0. */

#include "compute.h"
#include "user.h"

#define CYCLES_PER_TICK 1000000ul
#define CYCLES_PER_US 10

static const char usage[] = "usage: interactive [BURSTS [THOUSANDS]]";

int main(int argc, char **argv) {
    if (argc > 3)
        fatal("%s\n", usage);
    int bursts = argc > 1 ? parse_int(argv[1], 1, 100000, "BURSTS", usage) : 10;
    int thousands = argc > 2 ? parse_int(argv[2], 1, 100000, "THOUSANDS", usage) : 5;
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
