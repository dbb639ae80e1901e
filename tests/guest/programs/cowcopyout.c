/* The kernel's stores into shared pages: the other side keeps its bytes. */

#include "report.h"

#define BYTES 8192

int main(void) {
    char *shared = sbrk(BYTES + PGSIZE);
    int *fds = (int *)(shared + BYTES);
    fds[0] = fds[1] = 77;
    memset(shared, 'A', BYTES);
    int fd = open("/cowcopyout", O_CREATE | O_RDWR);
    static char text[BYTES];
    memset(text, 'B', BYTES);
    write(fd, text, BYTES);
    close(fd);
    fd = open("/cowcopyout", O_RDONLY);
    if (child()) {
        say("pipe", pipe(fds));
        say("child_fd", fds[0]);
        say("read", read(fd, shared, BYTES));
        say("child_wrong", others(shared, BYTES, 'B'));
        exit(0);
    }
    status_of_child();
    say("parent_fds", fds[0] == 77 && fds[1] == 77);
    say("parent_wrong", others(shared, BYTES, 'A'));
    return 0;
}
