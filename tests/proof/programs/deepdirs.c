/* A directory in a directory, as deep as there are inodes; and a process at the bottom of a tree that
 * is taken away above it. */

#include "user.h"

static int descend(int most) {
    int depth = 0;
    while (depth < most && mkdir("d") == 0 && chdir("d") == 0)
        depth++;
    return depth;
}

static int climb_and_remove(int depth) {
    int removed = 0;
    for (; depth > 0; depth--)
        removed += chdir("..") == 0 && unlink("d") == 0;
    return removed;
}

int main(void) {
    int depth = descend(1 << 20), fds[2], status;
    char byte;
    printf("deep=%d\n", depth);
    printf("refused=%d\n", open("f", O_CREATE | O_RDWR));
    printf("removed=%d\n", climb_and_remove(depth));
    printf("top=%d\n", open("init", O_RDONLY) >= 0);
    pipe(fds);
    depth = descend(100);
    int child = fork();
    if (child == 0) { /* keep the bottom alive until told */
        close(fds[1]);
        read(fds[0], &byte, 1);
        int kept = open("..", O_RDONLY) >= 0, made = mkdir("x");
        exit(kept * 2 + (made == -1));
    }
    int removed = climb_and_remove(depth);
    printf("kept=%d\n", depth - removed > 0 && removed > 40);
    close(fds[1]);
    printf("waited=%d\n", wait(&status) == child);
    printf("status=%d\n", status);
    chdir("/");
    depth = 0;
    while (chdir("d") == 0)
        depth++;
    for (removed = 0; depth > 0; depth--)
        removed += chdir("..") == 0 && unlink("d") == 0;
    printf("gone=%d\n", chdir("/d"));
    return 0;
}
