/* Kill a child that only computes; wait for it. */

#include "report.h"

int main(void) {
    int pid = fork();
    if (pid == 0)
        for (volatile int i = 0;; i++)
            ;
    yield();
    say("kill", kill(pid));
    say("status", status_of_child());
    return 0;
}
