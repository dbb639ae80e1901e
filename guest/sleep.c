/* sleep TICKS: wait; a tick is a tenth of a second. */

#include "user.h"

int main(int argc, char **argv) {
    uint64 ticks;
    if (argc != 2)
        fatal("usage: sleep TICKS (a tick is 0.1 s)\n");
    if (!parse_uint(argv[1], 0x7fffffff, &ticks))
        fatal("sleep: not a number of ticks: %s\n", argv[1]);
    return sleep((int)ticks) < 0;
}
