/* kill PID...: end processes; each dies at its next return from the kernel. */

#include "user.h"

static int kill_one(const char *text) {
    uint64 pid;
    if (!parse_uint(text, 0x7fffffff, &pid) || pid == 0) {
        fprintf(2, "kill: not a pid: %s\n", text);
        return 1;
    }
    if (kill((int)pid) < 0) {
        fprintf(2, "kill: no process %lu\n", pid);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    if (argc < 2)
        fatal("usage: kill PID...\n");
    for (int i = 1; i < argc; i++)
        failed |= kill_one(argv[i]);
    return failed;
}
