/* Parent and child count in the same variable, turn by turn; then the child becomes another program. */

#include "report.h"

static volatile int x; /* in .bss: a shared page */

static void count(void) {
    for (int i = 0; i < 100; i++) {
        x = x + 1;
        yield();
    }
}

int main(void) {
    x = 1;
    if (child()) {
        say("child_first", x);
        count();
        say("child", x);
        char *argv[] = {"echo", "other=1", NULL};
        exec("/echo", argv);
        exit(1);
    }
    x = 2;
    count();
    say("parent", x);
    say("status", status_of_child());
    say("end", x);
    return 0;
}
