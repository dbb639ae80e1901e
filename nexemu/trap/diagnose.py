"""What exactly went wrong: the instruction, the byte it wanted, and the cause as the ISA names it.

The TLB knows the page and whether it was a load, a store or a fetch; an atomic counts as a load
there, though its fault is a store/AMO fault. Disassembling the instruction settles both.
Done only for a process that is about to die, so it may be slow.
"""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, NamedTuple

from nexemu.errors import BadAddress, GuestError
from nexemu.machine.hart import Trap
from nexemu.mem.explain import why_bad
from nexemu.mem.usercopy import copyin
from nexemu.proc.proc import Proc
from nexemu.riscv import PAGE_FAULT_OF, PGMASK, U64, VA, Access, Cause, pgrounddown

REGISTERS: Final = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{number}" for number in range(8)),
    *(f"s{number}" for number in range(2, 12)),
    *("t3", "t4", "t5", "t6"),
)
"""x0 to x31 by the names that the calling convention gives them."""
MEMORY_OPERAND: Final = re.compile(r"(-?\w*)\((\w+)\)$")
LONGEST_INSTRUCTION: Final = 4
NAMES: Final[Mapping[int, str]] = {
    Cause.ILLEGAL_INSTRUCTION: "illegal instruction",
    Cause.BREAKPOINT: "breakpoint",
    Cause.LOAD_MISALIGNED: "load address misaligned",
    Cause.STORE_MISALIGNED: "store address misaligned",
    Cause.INSTRUCTION_PAGE_FAULT: "instruction page fault",
    Cause.LOAD_PAGE_FAULT: "load page fault",
    Cause.STORE_PAGE_FAULT: "store page fault",
}
HINTS: Final[Mapping[int, str]] = {
    Cause.ILLEGAL_INSTRUCTION: "not an instruction that user mode may execute",
    Cause.BREAKPOINT: "no debugger is attached",
    Cause.LOAD_MISALIGNED: "the address of an atomic must be a multiple of its size",
}
STORE_CAUSE_OF: Final[Mapping[int, Cause]] = {
    Cause.LOAD_PAGE_FAULT: Cause.STORE_PAGE_FAULT,
    Cause.LOAD_MISALIGNED: Cause.STORE_MISALIGNED,
}
"""What an atomic is told, for what Unicorn takes for a load's fault."""


class Diagnosis(NamedTuple):
    """``cause``, ``sepc`` and ``stval`` as the hardware would report them, the instruction as text, and
    why it could not be served."""

    cause: int
    sepc: VA
    stval: int
    instruction: str
    why: str

    def line(self, proc: Proc) -> str:
        """One line for the person at the host."""
        name = NAMES.get(self.cause, "exception")
        return (
            f"pid {proc.pid} {proc.name}: killed by {name} (scause {self.cause})"
            f" sepc={self.sepc:#x} stval={self.stval:#x}: {self.instruction}: {self.why}"
        )


def diagnose(proc: Proc, trap: Trap, read_register: Callable[[int], int]) -> Diagnosis:
    """What ``trap`` means for ``proc``; ``read_register`` gives an integer register by number."""
    mnemonic, operands = _disassemble(proc, trap)
    cause, stval = trap.cause, trap.stval
    if mnemonic.startswith(("amo", "sc.")):
        cause = STORE_CAUSE_OF.get(cause, cause)
    wanted = _effective_address(operands, read_register)
    if cause in (Cause.LOAD_PAGE_FAULT, Cause.STORE_PAGE_FAULT):
        stval = _first_bad_byte(trap.stval, wanted)
    elif cause in (Cause.LOAD_MISALIGNED, Cause.STORE_MISALIGNED):
        stval = wanted or 0
    elif cause == Cause.INSTRUCTION_PAGE_FAULT:
        stval = _first_bad_byte(trap.stval, trap.epc)
    why = _why(proc, trap, cause, stval)
    return Diagnosis(cause, trap.epc, stval, f"{mnemonic} {operands}".strip(), why)


def _why(proc: Proc, trap: Trap, cause: int, stval: VA) -> str:
    if isinstance(trap.error, BadAddress):
        return _why_bad(proc, trap.error, cause, stval)
    if trap.error is not None:
        return str(trap.error)
    return HINTS.get(trap.cause, "user mode cannot handle it")


def _why_bad(proc: Proc, error: BadAddress, cause: int, stval: VA) -> str:
    """What ``error`` says, but of the very byte: the page fault's handler knew only the page. A handler
    with words of its own keeps them."""
    access = next(access for access in Access if PAGE_FAULT_OF[access] == cause)
    if error.why not in (why_bad(proc.space, error.va, each) for each in Access):
        return error.why
    return why_bad(proc.space, stval, access)


def _disassemble(proc: Proc, trap: Trap) -> tuple[str, str]:
    if trap.cause == Cause.INSTRUCTION_PAGE_FAULT:
        return "(not fetched)", ""
    code = _code_at(proc, trap.epc)
    if not code:
        return "(swapped out)", ""
    capstone = import_module("capstone")  # here, since loading it would slow every boot for a rare death
    engine = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC)
    for _address, _size, mnemonic, operands in engine.disasm_lite(code, trap.epc, 1):
        return mnemonic, operands
    return f".word {int.from_bytes(code, 'little'):#x}", ""


def _code_at(proc: Proc, epc: VA) -> bytes:
    """Up to four bytes of code; fewer where the page ends and the next cannot be read, none where no frame is
    left for it to come back."""
    on_this_page = min(LONGEST_INSTRUCTION, PGMASK + 1 - (epc & PGMASK))
    for count in (LONGEST_INSTRUCTION, on_this_page):
        try:
            return copyin(proc.space, epc, count)
        except GuestError:
            continue
    return b""


def _effective_address(operands: str, read_register: Callable[[int], int]) -> int | None:
    found = MEMORY_OPERAND.search(operands)
    if found is None or found[2] not in REGISTERS:
        return None
    offset = int(found[1], 0) if found[1] else 0
    return (read_register(REGISTERS.index(found[2])) + offset) & U64


def _first_bad_byte(page: VA, wanted: int | None) -> int:
    """The first byte of the access on the faulting page: the access may begin on the page before."""
    if wanted is not None and pgrounddown(wanted) == pgrounddown(page):
        return wanted
    return pgrounddown(page)
