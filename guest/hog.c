/* hog [THOUSANDS [NAME]]: compute for THOUSANDS times a thousand instructions (1000), and do nothing else.
 *
 * It makes no system call before its end, so it runs for as long as the scheduler lets it. NAME, if
 * given, is printed at the end. */

#include "compute.h"
#include "user.h"

static const char usage[] = "usage: hog [THOUSANDS [NAME]]";

int main(int argc, char **argv) {
    if (argc > 3)
        fatal("%s\n", usage);
    compute(argc > 1 ? parse_int(argv[1], 1, 1000000, "THOUSANDS", usage) : 1000);
    if (argc > 2)
        printf("%s ends\n", argv[2]);
    return 0;
}
