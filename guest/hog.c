/* hog [THOUSANDS [NAME]]: compute for THOUSANDS times a thousand instructions (1000), and do nothing else.
 *
 * It makes no system call before its end, so it runs for as long as the scheduler lets it. NAME, if
 * given, is printed at the end. Exit status 0: the sum is right. */

#include "user.h"

#define TURNS 500 /* of a loop of two instructions, which is a thousand */

int main(int argc, char **argv) {
    if (argc > 3)
        fatal("usage: hog [THOUSANDS [NAME]]\n");
    int thousands = argc > 1 ? atoi(argv[1]) : 1000;
    if (thousands < 1 || thousands > 1000000)
        fatal("hog: THOUSANDS must be 1 to 1000000, not %s\n", argv[1]);
    uint64 turns = (uint64)thousands * TURNS;
    __asm__ volatile("1: addi %0, %0, -1\n"
                     "   bnez %0, 1b"
                     : "+r"(turns));
    if (argc > 2)
        printf("%s ends\n", argv[2]);
    return turns != 0;
}
