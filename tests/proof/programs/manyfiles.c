/* Make argv[1] files, argv[2] to a directory, until the disk has no more; then remove all of them. */

#include "user.h"

static char name[32];

static const char *at(int file, int each) {
    snprintf(name, sizeof name, "/d%d/f%d", file / each, file % each);
    return name;
}

static const char *directory(int number) {
    snprintf(name, sizeof name, "/d%d", number);
    return name;
}

int main(int argc, char **argv) {
    int wanted = argc > 1 ? atoi(argv[1]) : 0, each = argc > 2 ? atoi(argv[2]) : 1;
    int made = 0, directories = 0, refused = 0, removed = 0, fd;
    for (int file = 0; file < wanted; file++) {
        if (file % each == 0)
            directories += mkdir(directory(file / each)) == 0;
        if ((fd = open(at(file, each), O_CREATE | O_RDWR)) >= 0) {
            made++;
            close(fd);
        } else
            refused++;
    }
    printf("made=%d\ndirectories=%d\nrefused=%d\n", made, directories, refused);
    for (int file = 0; file < wanted; file++)
        removed += unlink(at(file, each)) == 0;
    for (int number = 0; number <= wanted / each; number++)
        directories -= unlink(directory(number)) == 0;
    printf("removed=%d\nleft=%d\n", removed, directories);
    fd = open("/again", O_CREATE | O_RDWR);
    printf("again=%d\n", fd >= 0 && close(fd) == 0 && unlink("/again") == 0);
    return 0;
}
