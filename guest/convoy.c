/* convoy [UNIT]: the lecture's A, B and C = 10, 1 and 1: three children that start together and compute
 * for 10, 1 and 1 times UNIT thousand instructions (1000).
 *
 * Each time is that from the start of all to the child's end, in units. First come, first served
 * lets B and C wait for all of A (10, 11, 12: mean 11); who takes turns, or lets those sink who have run for
 * long, has B and C out of the way soon. Exit status 0. */

#include "compute.h"
#include "user.h"

#define JOBS 3

static const char usage[] = "usage: convoy [UNIT]";
static const char names[] = "ABC";
static const int sizes[JOBS] = {10, 1, 1};

/* Wait on the closed gate, so that all start together; then compute, and say when that ended. */
__attribute__((noreturn)) static void job(int which, int unit, int gate, int results) {
    char byte;
    read(gate, &byte, 1);
    compute(sizes[which] * unit);
    uint64 row[2] = {(uint64)which, now()};
    write(results, row, sizeof row);
    exit(0);
}

int main(int argc, char **argv) {
    if (argc > 2)
        fatal("%s\n", usage);
    int unit = argc > 1 ? parse_int(argv[1], 1, 100000, "UNIT", usage) : 1000, gate[2], results[2];
    if (pipe(gate) < 0 || pipe(results) < 0)
        fatal("convoy: no pipe\n");
    for (int which = 0; which < JOBS; which++) {
        int pid = fork();
        if (pid < 0)
            fatal("convoy: fork failed\n");
        if (pid == 0) {
            close(gate[1]);
            job(which, unit, gate[0], results[1]);
        }
    }
    sleep(1); /* until all stand at the gate */
    close(gate[0]);
    uint64 start = now(), sum = 0;
    close(gate[1]);
    for (int ended = 0; ended < JOBS; ended++) {
        uint64 row[2];
        if (read(results[0], row, sizeof row) != sizeof row)
            fatal("convoy: a job is missing\n");
        uint64 hundredths = (row[1] - start) / ((uint64)unit * 10);
        printf("[convoy] %c size=%d ends_after=%lu.%0*lu\n", names[row[0]], sizes[row[0]], hundredths / 100, 2,
               hundredths % 100);
        sum += hundredths;
    }
    printf("[convoy] mean=%lu.%0*lu\n", sum / JOBS / 100, 2, sum / JOBS % 100);
    while (wait(NULL) >= 0)
        ;
    return 0;
}
