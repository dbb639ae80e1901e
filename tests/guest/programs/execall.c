/* execall PATH...: try to become each program in turn; say what exec returned. */

#include "report.h"

int main(int argc, char **argv) {
    char *arguments[] = {"x", NULL};
    int before = used();
    for (int i = 1; i < argc; i++) {
        int result = exec(argv[i], arguments);
        say(argv[i], result);
    }
    say("lost", used() - before);
    return 0;
}
