/* grep [-inv] PATTERN [FILE]...: print the lines that match. The pattern knows ^ $ . and *; a
 * backslash takes away a character's meaning. -i ignores case, -n numbers, -v inverts; -- ends
 * the options.
 * Exit status 0: some line was printed, 1: none, 2: trouble.
 *
 * The matcher is the one of Kernighan and Pike, "The Practice of Programming", section 9.2. */

#include "user.h"

static int ignore_case, show_numbers, invert;
static char chunk[4096];
static char line[1024]; /* a longer line is matched and printed in pieces of this size */

static int lower(int c) {
    return ignore_case && c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

/* The pattern's next element is one character, or two when the first is a backslash. */
static int element_length(const char *pattern) {
    return pattern[0] == '\\' && pattern[1] ? 2 : 1;
}

static int matches_one(const char *pattern, char c) {
    if (!c)
        return 0;
    if (element_length(pattern) == 2)
        return lower(pattern[1]) == lower(c);
    return pattern[0] == '.' || lower(pattern[0]) == lower(c);
}

static int match_here(const char *pattern, const char *text) {
    while (*pattern && !(pattern[0] == '$' && !pattern[1])) {
        const char *rest = pattern + element_length(pattern);
        if (*rest == '*') {
            for (;; text++) {
                if (match_here(rest + 1, text))
                    return 1;
                if (!matches_one(pattern, *text))
                    return 0;
            }
        }
        if (!matches_one(pattern, *text))
            return 0;
        pattern = rest;
        text++;
    }
    return *pattern == '\0' || *text == '\0';
}

static int match(const char *pattern, const char *text) {
    if (pattern[0] == '^')
        return match_here(pattern + 1, text);
    do
        if (match_here(pattern, text))
            return 1;
    while (*text++);
    return 0;
}

static int judge(const char *pattern, const char *name, int number) {
    if (match(pattern, line) == invert)
        return 0;
    if (name)
        printf("%s:", name);
    if (show_numbers)
        printf("%d:", number);
    printf("%s\n", line);
    return 1;
}

/* How many lines of fd were printed; -1 when it cannot be read. */
static int grep(const char *pattern, int fd, const char *name) {
    int n, length = 0, number = 1, printed = 0;
    while ((n = read(fd, chunk, sizeof chunk)) > 0) {
        for (int i = 0; i < n; i++) {
            if (chunk[i] != '\n')
                line[length++] = chunk[i];
            if (chunk[i] == '\n' || length == LENGTH(line) - 1) {
                line[length] = '\0';
                printed += judge(pattern, name, number);
                number += chunk[i] == '\n';
                length = 0;
            }
        }
    }
    line[length] = '\0';
    if (length > 0)
        printed += judge(pattern, name, number);
    return n < 0 ? -1 : printed;
}

static int grep_file(const char *pattern, const char *name, const char *shown) {
    int fd = open(name, O_RDONLY), printed = -1;
    if (fd >= 0) {
        printed = grep(pattern, fd, shown);
        close(fd);
    }
    if (printed < 0)
        fprintf(2, "grep: cannot read %s\n", name);
    return printed;
}

static void usage(void) {
    fprintf(2, "usage: grep [-inv] PATTERN [FILE]...\n");
    exit(2);
}

static int read_options(int argc, char **argv) {
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        for (const char *letter = argv[i] + 1; *letter; letter++) {
            if (!strchr("inv", *letter))
                usage();
            ignore_case |= *letter == 'i';
            show_numbers |= *letter == 'n';
            invert |= *letter == 'v';
        }
    }
    return i;
}

int main(int argc, char **argv) {
    int first = read_options(argc, argv), found = 0, trouble = 0;
    if (first >= argc)
        usage();
    const char *pattern = argv[first++];
    if (first == argc) {
        int printed = grep(pattern, 0, NULL);
        return printed < 0 ? 2 : printed == 0;
    }
    int several = argc - first > 1;
    for (int i = first; i < argc; i++) {
        int printed = grep_file(pattern, argv[i], several ? argv[i] : NULL);
        found |= printed > 0;
        trouble |= printed < 0;
    }
    return trouble ? 2 : !found;
}
