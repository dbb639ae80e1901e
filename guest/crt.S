# Where every program begins: exec() enters here with a0 = argc, a1 = argv and sp set, and
# what main returns becomes the exit status.

#include "syscalls.h"

        .section .text.start, "ax"
        .globl _start
_start:
        call    main
        li      a7, SYS_exit
        ecall
