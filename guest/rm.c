/* rm PATH...: remove files and empty directories. */

#include "user.h"

int main(int argc, char **argv) {
    int failed = 0;
    if (argc < 2)
        fatal("usage: rm PATH...\n");
    for (int i = 1; i < argc; i++) {
        if (unlink(argv[i]) < 0) {
            fprintf(2, "rm: cannot remove %s\n", argv[i]);
            failed = 1;
        }
    }
    return failed;
}
