/* A thousand children that nobody waits for until there are as many as can be; a thousand orphans that
 * nobody but init can wait for. */

#include "user.h"

enum { THOUSAND = 1000 };

static struct procinfo table[NPROC];

int main(void) {
    int before = getprocs(table, NPROC);
    int born = 0, reaped = 0, most = 0, refusals = 0;
    while (born < THOUSAND) {
        int pid = fork();
        if (pid == 0)
            exit(born & 0x7f);
        if (pid > 0) {
            born++;
            continue;
        }
        refusals++;
        int waiting = 0, status;
        while (wait(&status) > 0)
            waiting++;
        reaped += waiting;
        most = waiting > most ? waiting : most;
    }
    while (wait(NULL) > 0)
        reaped++;
    printf("born=%d\nreaped=%d\nmost=%d\nrefusals=%d\n", born, reaped, most, refusals);
    int orphans = 0;
    while (orphans < THOUSAND) {
        int pid = fork(), status = 0;
        if (pid == 0) {
            int made = 0;
            for (int i = 0; i < 4; i++) {
                int grandchild = fork();
                if (grandchild == 0)
                    exit(1);
                made += grandchild > 0;
            }
            exit(made);
        }
        if (pid < 0 || wait(&status) != pid || status == 0)
            yield(); /* init has not come round to them yet */
        else
            orphans += status;
    }
    while (getprocs(table, NPROC) > before)
        yield();
    printf("orphans=%d\n", orphans >= THOUSAND);
    return 0;
}
