/* What the tests' guest programs share: a number goes out as `name=number`, for the host to judge. */
#ifndef REPORT_H
#define REPORT_H

#include "user.h"

static struct memstat now;

__attribute__((unused)) static void say(const char *name, long value) {
    printf("%s=%ld\n", name, value);
}

/* Pages of this process that are mapped. */
__attribute__((unused)) static int mapped(void) {
    memstat(&now);
    return now.proc_mapped_pages;
}

/* Frames in use in the whole machine. */
__attribute__((unused)) static int used(void) {
    memstat(&now);
    return now.used_pages;
}

/* fork, or an end that no test takes for success. */
__attribute__((unused)) static int child(void) {
    int pid = fork();
    if (pid < 0)
        fatal("fork failed\n");
    return pid == 0;
}

/* The exit status of the next child to end. */
__attribute__((unused)) static int status_of_child(void) {
    int status = 12345;
    if (wait(&status) < 0)
        fatal("wait failed\n");
    return status;
}

/* How many of `n` bytes are not `byte`. */
__attribute__((unused)) static int others(const volatile char *memory, int n, char byte) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += memory[i] != byte;
    return count;
}

#endif
