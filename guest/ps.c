/* ps: the processes, with the pages that each has mapped and the pages that it was promised. */

#include "user.h"

static const char *const states[] = PROC_STATES;
static struct procinfo table[NPROC];

static const char *state_name(int state) {
    return state >= 0 && state < LENGTH(states) ? states[state] : "?";
}

int main(int argc, char **argv) {
    if (argc > 1)
        fatal("ps: unexpected argument %s\nusage: ps\n", argv[1]);
    int n = getprocs(table, NPROC);
    if (n < 0)
        fatal("ps: this kernel does not list its processes\n");
    printf("%4s %4s %-8s %8s %8s %s\n", "PID", "PPID", "STATE", "MAPPED", "SIZE", "NAME");
    for (int i = 0; i < n; i++) {
        const struct procinfo *p = &table[i];
        printf("%4d %4d %-8s %8d %8d %.16s\n", p->pid, p->ppid, state_name(p->state), p->mapped_pages,
               p->size_pages, p->name);
    }
    return 0;
}
