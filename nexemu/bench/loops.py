"""The guest loops: the same instructions run on the machine and on its floor.

Each begins at its address 0, takes its arguments in registers and ends at an ecall. None uses
the address it runs at.
"""

from typing import Final

from nexemu.bench.assembler import A0, A1, A7, S0, T0, T1, T2, Assembler

PER_TURN: Final = 8
"""Instructions of interest in each turn of :func:`alu` and :func:`load`."""

GETPID_RESUME: Final = 8
"""Where :func:`getpid` goes on after its first ecall."""


def touch() -> bytes:
    """Store to the first word of each of a1 pages from a0 on."""
    asm = Assembler()
    asm.lui(T0, 1)
    top = asm.here
    asm.sd(A0, 0, A0)
    asm.add(A0, A0, T0)
    asm.addi(A1, A1, -1)
    asm.bne(A1, 0, top)
    asm.ecall()
    return asm.code


def getpid(number: int, exit_number: int) -> bytes:
    """Make the call ``number`` s0 times, then ``exit_number`` with the last answer."""
    asm = Assembler()
    asm.addi(A7, 0, number)
    asm.ecall()
    asm.addi(S0, S0, -1)
    asm.bne(S0, 0, 0)
    asm.addi(A7, 0, exit_number)
    asm.ecall()
    return asm.code


def alu() -> bytes:
    """PER_TURN additions, exclusive-ors and shifts, a1 times."""
    asm = Assembler()
    for _ in range(PER_TURN // 4):
        asm.add(T0, T0, A1)
        asm.xor(T1, T1, T0)
        asm.slli(T2, T0, 7)
        asm.add(T1, T1, T2)
    asm.addi(A1, A1, -1)
    asm.bne(A1, 0, 0)
    asm.ecall()
    return asm.code


def load() -> bytes:
    """PER_TURN loads from the words at a0, a1 times."""
    asm = Assembler()
    for word in range(PER_TURN):
        asm.ld(T0, 8 * word, A0)
    asm.addi(A1, A1, -1)
    asm.bne(A1, 0, 0)
    asm.ecall()
    return asm.code
