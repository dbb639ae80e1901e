/* replay: carry out the steps in /steps, one a line, in this process and in all that it forks.
 *
 *     g N      sbrk(N)
 *     s A B    store byte B at heap[A]
 *     l A      load heap[A]
 *     r A N    read() N bytes of /pattern to heap[A]
 *     w A N    write() N bytes from heap[A] into a pipe, and read them back
 *     f        fork: both go on with the next step
 *     y        yield
 *
 * What each process has seen it keeps in memory of its own and says at its end, with the path by which
 * it came into being: p for parent, c for child at each fork. Addresses are valid: the host sees to it. */

#include "report.h"

static char steps[16384];
static uint8 seen[1024];
static int seen_count;
static char path[16];
static char copy[512];
static char *heap;

static void see(uint8 byte) {
    if (seen_count < LENGTH(seen))
        seen[seen_count++] = byte;
}

static const char *number(const char *text, int *value) {
    while (*text == ' ')
        text++;
    *value = atoi(text);
    while (*text && *text != ' ' && *text != '\n')
        text++;
    return text;
}

static void read_pattern(int at, int n) {
    int fd = open("/pattern", O_RDONLY);
    see(read(fd, heap + at, n) == n);
    close(fd);
}

static void through_pipe(int at, int n) {
    int fds[2];
    uint8 sum = 0;
    see(pipe(fds) == 0);
    see(write(fds[1], heap + at, n) == n);
    see(n == 0 || read(fds[0], copy, n) == n);
    for (int i = 0; i < n; i++)
        sum = (uint8)(sum * 31 + (uint8)copy[i]);
    see(sum);
    close(fds[0]);
    close(fds[1]);
}

static void step(char what, int a, int b) {
    switch (what) {
    case 'g':
        see(sbrk(a) != MAP_FAILED);
        break;
    case 's':
        ((volatile char *)heap)[a] = (char)b;
        break;
    case 'l':
        see(((volatile uint8 *)heap)[a]);
        break;
    case 'r':
        read_pattern(a, b);
        break;
    case 'w':
        through_pipe(a, b);
        break;
    case 'f':
        path[strlen(path)] = fork() == 0 ? 'c' : 'p';
        break;
    case 'y':
        yield();
        break;
    }
}

static void tell(void) {
    static char line[16 + 2 * sizeof seen + 4];
    char *end = line;
    end += snprintf(end, 20, "%s:", path);
    for (int i = 0; i < seen_count; i++)
        end += snprintf(end, 3, "%02x", seen[i]);
    *end++ = '\n';
    write(1, line, (int)(end - line));
}

int main(void) {
    int fd = open("/steps", O_RDONLY), a, b;
    read(fd, steps, sizeof steps - 1);
    close(fd);
    heap = sbrk(0);
    for (const char *at = steps; *at; at++) {
        char what = *at;
        at = number(number(at + 1, &a), &b);
        step(what, a, b);
    }
    while (wait(NULL) >= 0)
        ;
    tell();
    return 0;
}
