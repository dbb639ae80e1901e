/* forktest: fork until the kernel refuses, then wait for every child.
 *
 * Nobody is waited for before the end, so the count is the number of free process slots: 11 of
 * 16 when only init and a shell run beside it.
 *
 * xv6: user/forktest.c */

#include "user.h"

#define ATTEMPTS 32

int main(void) {
    int children = 0, pid = 0;
    while (children < ATTEMPTS && (pid = fork()) > 0)
        children++;
    if (pid == 0)
        return 0;
    if (children == ATTEMPTS)
        fatal("forktest: %d forks and no refusal\n", ATTEMPTS);
    for (int reaped = 0; reaped < children; reaped++) {
        int status;
        if (wait(&status) < 0)
            fatal("forktest: wait stopped after %d of %d children\n", reaped, children);
        if (status != 0)
            fatal("forktest: a child ended with status %d\n", status);
    }
    if (wait(NULL) >= 0)
        fatal("forktest: wait found a child too many\n");
    printf("forktest: %d children, all reaped\n", children);
    return 0;
}
