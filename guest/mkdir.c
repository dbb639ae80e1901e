/* mkdir PATH...: make directories. */

#include "user.h"

int main(int argc, char **argv) {
    int failed = 0;
    if (argc < 2)
        fatal("usage: mkdir PATH...\n");
    for (int i = 1; i < argc; i++) {
        if (mkdir(argv[i]) < 0) {
            fprintf(2, "mkdir: cannot make %s\n", argv[i]);
            failed = 1;
        }
    }
    return failed;
}
