"""The program that puppets run: one instruction of each kind, and a page of each kind of right.

It has no will of its own. A check points the program counter at one of its instructions, and the
breakpoint behind gives control back. So a check says "store a byte there", and a real hart with a
real TLB does it.
"""

import struct
from enum import IntEnum
from typing import Final

from nexemu.riscv import PGSIZE, VA

EBREAK: Final = 0x0010_0073
PF_X, PF_W, PF_R = 1, 2, 4
EM_RISCV: Final = 243
EHDR_BYTES, PHDR_BYTES = 64, 56

TEXT: Final[VA] = 0
DATA: Final[VA] = PGSIZE
CODE: Final[VA] = 2 * PGSIZE
GUARD: Final[VA] = 3 * PGSIZE
STACK: Final[VA] = 4 * PGSIZE
BREAK: Final[VA] = 5 * PGSIZE
"""Text is R X, data R W, code R W X, the guard page has no U, and the break is above the stack page."""

DATA_PAGE: Final = bytes(range(1, 251)) * (PGSIZE // 250) + bytes(PGSIZE % 250)
ANSWER: Final = 42
CODE_PAGE: Final = struct.pack("<II", 0x0000_0513 | ANSWER << 20, EBREAK).ljust(PGSIZE, b"\0")
"""``li a0, ANSWER``; ebreak."""


class Step(IntEnum):
    """The instructions of the text page; each value is the address of one."""

    LOAD = 0
    STORE = 8
    ADD = 16
    ECALL = 24
    JUMP = 32

    @property
    def text(self) -> str:
        """The instruction as an assembler writes it."""
        return ASSEMBLY[self][0]


ASSEMBLY: Final = {
    Step.LOAD: ("lbu a0, 0(a0)", 0x0005_4503),
    Step.STORE: ("sb a1, 0(a0)", 0x00B5_0023),
    Step.ADD: ("amoadd.w a0, a1, (a0)", 0x00B5_252F),
    Step.ECALL: ("ecall", 0x0000_0073),
    Step.JUMP: ("jr a0", 0x0005_0067),
}

TEXT_PAGE: Final = b"".join(struct.pack("<II", word, EBREAK) for _, word in ASSEMBLY.values()).ljust(
    PGSIZE, b"\0"
)


def elf() -> bytes:
    """The program as an ELF file that ``exec`` can load."""
    pages = (
        (TEXT, TEXT_PAGE, PF_R | PF_X),
        (DATA, DATA_PAGE, PF_R | PF_W),
        (CODE, CODE_PAGE, PF_R | PF_W | PF_X),
    )
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    fields = (2, EM_RISCV, 1, Step.LOAD, EHDR_BYTES, 0, 0, EHDR_BYTES, PHDR_BYTES, len(pages), 0, 0, 0)
    head = ident + struct.pack("<HHIQQQIHHHHHH", *fields)
    for number, (va, content, flags) in enumerate(pages, start=1):
        sizes = (len(content), len(content), PGSIZE)
        head += struct.pack("<IIQQQQQQ", 1, flags, number * PGSIZE, va, va, *sizes)
    return head.ljust(PGSIZE, b"\0") + b"".join(content for _, content, _ in pages)
