/* cat [FILE]...: write the files, or standard input, to standard output. */

#include "user.h"

static char buffer[4096];

static int copy(int fd, const char *name) {
    int n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        if (write(1, buffer, n) != n)
            fatal("cat: write error\n");
    if (n < 0)
        fprintf(2, "cat: cannot read %s\n", name);
    return n < 0;
}

static int copy_file(const char *name) {
    struct stat st;
    int failed = 1, fd = open(name, O_RDONLY);
    if (fd < 0) {
        fprintf(2, "cat: cannot open %s\n", name);
        return 1;
    }
    if (fstat(fd, &st) == 0 && st.type == T_DIR)
        fprintf(2, "cat: %s is a directory\n", name);
    else
        failed = copy(fd, name);
    close(fd);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    if (argc < 2)
        return copy(0, "standard input");
    for (int i = 1; i < argc; i++)
        failed |= copy_file(argv[i]);
    return failed;
}
