/* wc [-lwc] [FILE]...: count lines, words and bytes; the letters choose which of them. */

#include "user.h"

static char buffer[4096];

static int want_lines, want_words, want_bytes;

struct counts {
    uint64 lines, words, bytes;
};

static int is_blank(char c) {
    return strchr(" \t\n\r\v\f", c) && c;
}

static void show(const struct counts *sum, const char *name) {
    const char *gap = "";
    if (want_lines)
        printf("%lu", sum->lines), gap = " ";
    if (want_words)
        printf("%s%lu", gap, sum->words), gap = " ";
    if (want_bytes)
        printf("%s%lu", gap, sum->bytes);
    printf("%s%s\n", *name ? " " : "", name);
}

static int count(int fd, const char *name, struct counts *total) {
    struct counts sum = {0, 0, 0};
    int n, in_word = 0;
    while ((n = read(fd, buffer, sizeof buffer)) > 0) {
        sum.bytes += (uint64)n;
        for (int i = 0; i < n; i++) {
            sum.lines += buffer[i] == '\n';
            sum.words += !in_word && !is_blank(buffer[i]);
            in_word = !is_blank(buffer[i]);
        }
    }
    if (n < 0) {
        fprintf(2, "wc: cannot read %s\n", *name ? name : "standard input");
        return 1;
    }
    show(&sum, name);
    total->lines += sum.lines, total->words += sum.words, total->bytes += sum.bytes;
    return 0;
}

static int count_file(const char *name, struct counts *total) {
    int fd = open(name, O_RDONLY);
    if (fd < 0) {
        fprintf(2, "wc: cannot open %s\n", name);
        return 1;
    }
    int failed = count(fd, name, total);
    close(fd);
    return failed;
}

static void read_options(const char *letters) {
    for (; *letters; letters++) {
        if (!strchr("lwc", *letters))
            fatal("wc: unknown option -%c\nusage: wc [-lwc] [FILE]...\n", *letters);
        want_lines |= *letters == 'l';
        want_words |= *letters == 'w';
        want_bytes |= *letters == 'c';
    }
}

int main(int argc, char **argv) {
    struct counts total = {0, 0, 0};
    int failed = 0, i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++)
        read_options(argv[i] + 1);
    if (!want_lines && !want_words && !want_bytes)
        want_lines = want_words = want_bytes = 1;
    if (i == argc)
        return count(0, "", &total);
    int several = argc - i > 1;
    for (; i < argc; i++)
        failed |= count_file(argv[i], &total);
    if (several)
        show(&total, "total");
    return failed;
}
