/* The frame of the test programs: a banner, numbered tests, [PASS] or [FAIL]; the first failure
 * ends the program with status 1. */
#ifndef NEXEMU_CHECK_H
#define NEXEMU_CHECK_H

#include "user.h"

static const char *ruler; /* the line above and below the banner's text */
static int tests_begun;

static void banner(const char *text, const char *line) {
    ruler = line;
    printf("\n%s\n  %s\n%s\n\n", ruler, text, ruler);
}

static void all_passed(const char *text) {
    printf("\n%s\n  %s\n%s\n", ruler, text, ruler);
}

static void begin(const char *title) {
    printf("Test %d: %s\n", ++tests_begun, title);
}

static void pass(const char *text) {
    printf("  [PASS] %s\n", text);
}

__attribute__((noreturn)) static void fail(const char *text) {
    printf("  [FAIL] %s\n", text);
    exit(1);
}

static void check(int holds, const char *otherwise) {
    if (!holds)
        fail(otherwise);
}

/* sbrk that must succeed: the start of `bytes` new bytes. */
static char *grow(int bytes) {
    char *memory = sbrk(bytes);
    check(memory != MAP_FAILED, "sbrk failed");
    return memory;
}

static void shrink(int bytes) {
    check(sbrk(-bytes) != MAP_FAILED, "sbrk refused to shrink");
}

/* fork that must succeed; `otherwise` says what it means when it does not. */
static int fork_or(const char *otherwise) {
    int pid = fork();
    check(pid >= 0, otherwise);
    return pid;
}

/* The exit status of the next child to end. */
static int child_status(void) {
    int status;
    check(wait(&status) > 0, "wait found no child");
    return status;
}

#endif
