/* P forks C, C forks G before any write; then G, C and P write in turn, and again. Pipes keep the order. */

#include "report.h"

static int turn[3][2]; /* who may go: G, C, P */
static volatile char *page;

static void await(int who) {
    char go;
    read(turn[who][0], &go, 1);
}

static void pass_to(int who) {
    write(turn[who][1], "!", 1);
}

/* Write when it is our turn, twice; then say what we see. */
static void owner(int who, char mark) {
    for (int round = 0; round < 2; round++) {
        await(who);
        page[0] = (char)(mark + round);
        pass_to((who + 1) % 3);
    }
    await(who);
    char text[] = "x_sees";
    text[0] = mark;
    say(text, page[0] * 256 + page[1]);
    if (who < 2)
        pass_to(who + 1);
}

int main(void) {
    page = sbrk(PGSIZE);
    page[0] = 'o', page[1] = 'r';
    for (int i = 0; i < 3; i++)
        pipe(turn[i]);
    say("page", (long)page);
    if (child()) {
        if (child()) {
            owner(0, 'g');
            exit(0);
        }
        owner(1, 'c');
        exit(status_of_child());
    }
    pass_to(0);
    owner(2, 'p');
    return status_of_child();
}
