/* Pages that the kernel's own copies touch first: read() into, and write() from, fresh heap pages. */

#include "report.h"

static char text[8192];

static int file_with(const char *path, char byte, int n) {
    memset(text, byte, (uint64)n);
    int fd = open(path, O_CREATE | O_RDWR);
    write(fd, text, n);
    close(fd);
    return open(path, O_RDWR);
}

static int read_all(int fd, char *to, int n) {
    int done = 0, got;
    while (done < n && (got = read(fd, to + done, n - done)) > 0)
        done += got;
    return done;
}

int main(void) {
    int fd = file_with("/kernelfill", 'x', 6000);
    char *page = sbrk(8192);
    int before = mapped();
    int total = read_all(fd, page + 1000, 6000);
    say("read", total);
    say("read_mapped", mapped() - before);
    say("before", others(page, 1000, 0));
    say("within", others(page + 1000, 6000, 'x'));
    say("after", others(page + 7000, 1192, 0));

    int out = open("/zeros", O_CREATE | O_RDWR);
    page = sbrk(8192);
    before = mapped();
    say("written", write(out, page, 8192));
    say("write_mapped", mapped() - before);
    close(out);
    out = open("/zeros", O_RDWR);
    memset(text, 'y', 8192);
    say("back", read_all(out, text, 8192));
    say("nonzero", others(text, 8192, 0));
    say("into_nothing", read(fd, page + 8192, 1));
    say("from_nothing", write(out, page + 8192, 1));
    return 0;
}
