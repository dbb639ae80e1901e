"""Instructions that user mode may not execute, though Unicorn would let it: reads of ``cycle``, ``instret``
and the other performance counters.

They would show the host's counters, different at each run. Their places are found when a program
is loaded, and the hart stops there as for an illegal instruction. (``time`` traps by itself, and
the kernel serves it.)

Privileged Architecture, "Counter-Enable Register"; Unprivileged Architecture, "Zicntr and Zihpm"
"""

import re
from collections.abc import Iterator
from typing import Final

from nexemu.riscv import VA

SYSTEM: Final = 0x73
CSR_CYCLE: Final = 0xC00
CSR_TIME: Final = 0xC01
CSR_HPMCOUNTER31: Final = 0xC1F

CANDIDATE: Final = re.compile(rb"(?=([\x73\xf3]..[\xc0\xc1]))", re.DOTALL)
"""The opcode SYSTEM in the first byte, a CSR number that begins with 0xC0 or 0xC1 in the last."""


def counter_reads(code: bytes | bytearray | memoryview, start: VA) -> Iterator[VA]:
    """The addresses of such instructions in ``code``, which lies at ``start``. Bytes that look like one in
    the middle of another instruction are reported too; nothing ever stops there."""
    for found in CANDIDATE.finditer(code):
        if found.start() % 2 == 0 and _reads_counter(int.from_bytes(found[1], "little")):
            yield start + found.start()


def _reads_counter(word: int) -> bool:
    csr, funct3, opcode = word >> 20, word >> 12 & 7, word & 0x7F
    is_csr_instruction = opcode == SYSTEM and funct3 & 3 != 0
    return is_csr_instruction and CSR_CYCLE <= csr <= CSR_HPMCOUNTER31 and csr != CSR_TIME
