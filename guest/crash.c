/* crash: load from an address that no program has. The kernel kills it and lives on. */

#include "user.h"

int main(void) {
    static const char text[] = "crash: attempting out-of-bounds access...\n";
    write(1, text, 41); /* without the newline, as the lab's own program does */
    return *(volatile int *)0xdeadbeef;
}
