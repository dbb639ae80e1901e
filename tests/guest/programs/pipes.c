/* Pipes: blocking, order, ends, and what fails. */

#include "report.h"

static char block[2000];

static void letters(char *to, int n) {
    for (int i = 0; i < n; i++)
        to[i] = (char)('a' + i % 26);
}

int main(void) {
    int fds[2], n, total = 0;
    char got[600];
    pipe(fds);
    say("read_end", fds[0]);
    say("write_end", fds[1]);
    say("wrong_way_read", read(fds[1], got, 1));
    say("wrong_way_write", write(fds[0], got, 1));
    say("nothing", write(fds[1], got, 0));
    say("fstat", fstat(fds[0], (struct stat *)got));
    if (child()) { /* 2,000 bytes through 512: the writer must wait */
        close(fds[0]);
        letters(block, 2000);
        exit(write(fds[1], block, 2000) == 2000 ? 0 : 1);
    }
    close(fds[1]);
    int wrong = 0;
    while ((n = read(fds[0], got, sizeof got)) > 0)
        for (int i = 0; i < n; i++)
            wrong += got[i] != 'a' + total++ % 26;
    say("total", total);
    say("wrong", wrong);
    say("end", n);
    say("writer", status_of_child());
    close(fds[0]);

    pipe(fds);
    if (child()) { /* the reader goes away while the writer waits */
        close(fds[0]);
        exit(write(fds[1], block, 2000) == -1 ? 55 : 1);
    }
    close(fds[1]);
    say("some", read(fds[0], got, 100));
    close(fds[0]);
    say("broken", status_of_child());
    say("closed", read(fds[0], got, 1));
    say("closed_again", close(fds[0]));

    pipe(fds); /* every reader gets each byte once */
    for (int i = 0; i < 2; i++)
        if (child()) {
            close(fds[1]);
            for (total = 0; read(fds[0], got, 1) == 1; total++)
                ;
            exit(total);
        }
    write(fds[1], block, 500);
    close(fds[1]);
    say("shared", status_of_child() + status_of_child());
    say("bad_address", pipe((int *)~0ul));
    int used_before = used();
    say("text_address", pipe((int *)0));
    say("frames", used() - used_before);
    return 0;
}
