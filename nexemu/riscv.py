"""The facts of the RISC-V ISA that a memory manager needs: pages, Sv39 PTEs, causes, accesses.

Source: The RISC-V Instruction Set Manual, Volume II: Privileged Architecture, sections
"Sv39" and "Supervisor Cause Register". No behaviour beyond address arithmetic lives here.

xv6: kernel/riscv.h
"""

from enum import IntEnum
from typing import Final, TypeAlias

VA: TypeAlias = int
"""A virtual address. An alias, not a NewType: a NewType call costs 30 ns on the refill path."""
PA: TypeAlias = int
"""A physical address."""
PTE: TypeAlias = int
"""A page-table entry, as stored in guest RAM."""

PGSHIFT: Final = 12
PGSIZE: Final = 1 << PGSHIFT
PGMASK: Final = PGSIZE - 1

PTE_V: Final = 1 << 0  # valid
PTE_R: Final = 1 << 1
PTE_W: Final = 1 << 2
PTE_X: Final = 1 << 3
PTE_U: Final = 1 << 4  # user may use it
PTE_G: Final = 1 << 5
PTE_A: Final = 1 << 6  # accessed
PTE_D: Final = 1 << 7  # dirty
PTE_COW: Final = 1 << 8  # first RSW bit: the hardware ignores it, fork uses it
PTE_SWAP: Final = 1 << 9  # second RSW bit, with V clear: the page is in the swap area
PTE_RWX: Final = PTE_R | PTE_W | PTE_X
PTE_FLAGS: Final = 0x3FF
RESERVED_SHIFT: Final = 54
PTE_RESERVED: Final = 0x3FF << RESERVED_SHIFT  # must be zero without Svnapot and Svpbmt

ENTRIES: Final = 512
"""PTEs in one page table."""
LEVELS: Final = 3
"""Levels of an Sv39 table; level 2 is the root, level 0 holds the leaves."""

MAXVA: Final = 1 << (9 + 9 + 9 + 12 - 1)
"""One beyond the highest user address; one bit less than Sv39 allows, as in xv6, so that
no address needs sign extension."""

U64: Final = (1 << 64) - 1


class Access(IntEnum):
    """What user code wants to do with a page. Each value is the set of PTE bits that must all be
    there to allow it; W without R is a reserved combination, so a store asks for both."""

    READ = PTE_V | PTE_U | PTE_R
    WRITE = PTE_V | PTE_U | PTE_R | PTE_W
    FETCH = PTE_V | PTE_U | PTE_X


READ: Final = Access.READ
WRITE: Final = Access.WRITE
FETCH: Final = Access.FETCH
"""The same by a plain name: looking a member up in its class costs 50 ns, on every page fault."""


class Cause(IntEnum):
    """``scause`` values that user code can raise (Privileged Architecture, table of exception codes)."""

    INSTRUCTION_MISALIGNED = 0
    INSTRUCTION_ACCESS = 1
    ILLEGAL_INSTRUCTION = 2
    BREAKPOINT = 3
    LOAD_MISALIGNED = 4
    LOAD_ACCESS = 5
    STORE_MISALIGNED = 6
    STORE_ACCESS = 7
    USER_ECALL = 8
    INSTRUCTION_PAGE_FAULT = 12
    LOAD_PAGE_FAULT = 13
    STORE_PAGE_FAULT = 15
    TIMER = (1 << 63) | 5


USER_ECALL: Final = Cause.USER_ECALL
TIMER: Final = Cause.TIMER
"""As READ and WRITE: asked for at every trap."""


PAGE_FAULT_OF: Final = {
    Access.READ: Cause.LOAD_PAGE_FAULT,
    Access.WRITE: Cause.STORE_PAGE_FAULT,
    Access.FETCH: Cause.INSTRUCTION_PAGE_FAULT,
}


def pgroundup(size: int) -> int:
    """The smallest multiple of PGSIZE that is not below ``size`` (bytes)."""
    return (size + PGMASK) & ~PGMASK


def pgrounddown(address: int) -> int:
    """The start of the page that holds ``address``."""
    return address & ~PGMASK


def px(level: int, va: VA) -> int:
    """The index into the page table of ``level`` (2, 1 or 0) that ``va`` selects."""
    return (va >> (PGSHIFT + 9 * level)) & (ENTRIES - 1)


def pa2pte(pa: PA) -> PTE:
    """A PTE without flags that names the frame at ``pa``, which is page aligned."""
    return pa >> 2


def pte2pa(pte: PTE) -> PA:
    """The frame that ``pte``, whose reserved bits are clear, names."""
    return pte >> 10 << 12


def flags_text(pte: PTE) -> str:
    """``pte``'s flags for people, e.g. ``V R - X U A - COW``; absent ones are dashes."""
    names = zip("VRWXUGAD", range(8), strict=True)
    shown = [name if pte >> bit & 1 else "-" for name, bit in names]
    return " ".join(shown) + (" COW" if pte & PTE_COW else "")
