"""A small assembler: the loops that are measured are written in it, so they need no compiler.

Only the instructions that the loops use. Each method appends one and is named as in the manual;
operands stand in the order of assembly text, a branch takes the address that ``here`` gave.

RISC-V Instruction Set Manual, Volume I: "Base Instruction Formats"
"""

from typing import Final

SP: Final = 2
T0, T1, T2 = 5, 6, 7
S0: Final = 8
A0, A1, A2, A7 = 10, 11, 12, 17

OP, OP_IMM, LOAD, STORE, BRANCH, LUI = 0x33, 0x13, 0x03, 0x23, 0x63, 0x37
WORD: Final = 4


class Assembler:
    """Instructions from address 0 on."""

    def __init__(self) -> None:
        self._words: list[int] = []

    @property
    def here(self) -> int:
        """The address of the next instruction."""
        return WORD * len(self._words)

    @property
    def code(self) -> bytes:
        """What was assembled."""
        return b"".join(word.to_bytes(WORD, "little") for word in self._words)

    def add(self, rd: int, rs1: int, rs2: int) -> None:
        self._register(0, rd, rs1, rs2)

    def xor(self, rd: int, rs1: int, rs2: int) -> None:
        self._register(4, rd, rs1, rs2)

    def addi(self, rd: int, rs1: int, value: int) -> None:
        self._immediate(OP_IMM, 0, rd, rs1, value)

    def slli(self, rd: int, rs1: int, shift: int) -> None:
        self._immediate(OP_IMM, 1, rd, rs1, shift)

    def ld(self, rd: int, offset: int, rs1: int) -> None:
        self._immediate(LOAD, 3, rd, rs1, offset)

    def sd(self, rs2: int, offset: int, rs1: int) -> None:
        """Store ``rs2`` at ``offset`` from ``rs1``."""
        high, low = offset >> 5 & 127, offset & 31
        self._words.append(high << 25 | rs2 << 20 | rs1 << 15 | 3 << 12 | low << 7 | STORE)

    def lui(self, rd: int, value: int) -> None:
        self._words.append((value & 0xFFFFF) << 12 | rd << 7 | LUI)

    def bne(self, rs1: int, rs2: int, to: int) -> None:
        """Go ``to`` that address, less than 4 KiB away, unless the two are equal."""
        offset = to - self.here
        high = (offset >> 12 & 1) << 6 | offset >> 5 & 63
        low = (offset >> 1 & 15) << 1 | offset >> 11 & 1
        self._words.append(high << 25 | rs2 << 20 | rs1 << 15 | 1 << 12 | low << 7 | BRANCH)

    def ecall(self) -> None:
        self._words.append(0x73)

    def _register(self, funct3: int, rd: int, rs1: int, rs2: int) -> None:
        self._words.append(rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | OP)

    def _immediate(self, opcode: int, funct3: int, rd: int, rs1: int, value: int) -> None:
        self._words.append((value & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode)
