/* echo [-n] [WORD]...: write the words, a blank between them; -n leaves out the newline. */

#include "user.h"

int main(int argc, char **argv) {
    int newline = argc < 2 || strcmp(argv[1], "-n") != 0;
    for (int i = newline ? 1 : 2; i < argc; i++)
        printf("%s%s", argv[i], i + 1 < argc ? " " : "");
    if (newline)
        printf("\n");
    return 0;
}
