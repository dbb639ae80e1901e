/* Two programs of the same shape at the same addresses, with other code: each forks many children that
 * run code of their own, and none executes another program. They come in batches of changing size, so
 * that each program's children get frames that the other's had. */
#include "report.h"

__attribute__((noinline)) static int work(volatile int *seed) {
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += *seed ^ TWIN;
    return sum;
}

int main(void) {
    volatile int seed = 3;
    int wrong = 0;
    for (int i = 0; i < 60; i++) {
        int batch = 1 + i * TWIN % 5;
        for (int n = 0; n < batch; n++) {
            if (child())
                exit(work(&seed));
            yield();
        }
        for (int n = 0; n < batch; n++)
            wrong += status_of_child() != 10 * (3 ^ TWIN);
        yield();
    }
    say("wrong", wrong);
    return wrong;
}
