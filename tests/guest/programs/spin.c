/* spin: one system call, then a loop that makes none. */

#include "report.h"

int main(void) {
    printf("spinning\n");
    uptime();
    for (volatile int i = 0;; i++)
        ;
}
