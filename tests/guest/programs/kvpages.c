/* kvpages T: the KV cache of smolprobe's model with every layer's array page aligned, filled for T tokens. */

#include "report.h"

#define ARRAYS 60                 /* K and V of 30 layers */
#define TOKEN 768                 /* bytes of one token in one array: 3 heads, 64 floats */
#define ARRAY_BYTES (256 * TOKEN) /* 48 pages */

int main(int argc, char **argv) {
    int tokens = argc > 1 ? atoi(argv[1]) : 1;
    char *arrays[ARRAYS];
    for (int i = 0; i < ARRAYS; i++)
        arrays[i] = sbrk(ARRAY_BYTES);
    int before = mapped();
    for (int token = 0; token < tokens; token++)
        for (int i = 0; i < ARRAYS; i++)
            memset(arrays[i] + token * TOKEN, 1, TOKEN);
    say("resident", mapped() - before);
    return 0;
}
