"""Why an address is bad, in words that a student can learn from."""

from typing import Final

from nexemu.mem.vm import AddressSpace
from nexemu.memlayout import TRAMPOLINE, TRAPFRAME
from nexemu.riscv import (
    FETCH,
    MAXVA,
    PTE_COW,
    PTE_R,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    VA,
    Access,
    pgrounddown,
    pgroundup,
)

NEAR: Final = 1 << 21
"""Bytes above the break that a program may have meant to have."""

VERB: Final = {Access.READ: "load from", Access.WRITE: "store to", FETCH: "fetch from"}


def why_bad(space: AddressSpace, va: VA, access: Access) -> str:
    """The reason that ``access`` at ``va`` is refused; it names the region and the rule."""
    return f"{VERB[access]} {_region(space, va, access)}"


def _region(space: AddressSpace, va: VA, access: Access) -> str:
    if va >= MAXVA:
        return f"an address at or beyond MAXVA ({MAXVA:#x})"
    if va >= TRAPFRAME:
        name = "trampoline" if va >= TRAMPOLINE else "trapframe"
        return f"the {name} page, which is the kernel's (no U bit)"
    pte = space.table.pte(va)
    if pte & PTE_V:
        return _mapped_region(pte)
    area = space.area_at(va)
    if area is not None:
        return f"an mmap area that forbids it (prot {area.prot})"
    return _unmapped_region(space, va, access)


def _mapped_region(pte: int) -> str:
    if not pte & PTE_U:
        return "the guard page below the stack (mapped without the U bit)"
    rights = "".join(name if pte & bit else "-" for name, bit in (("R", PTE_R), ("W", PTE_W), ("X", PTE_X)))
    if pte & PTE_COW:
        return f"a copy-on-write page ({rights}) that no handler made writable"
    if pte & PTE_X:
        return f"program text ({rights}), which never becomes writable"
    return f"a page whose rights are {rights}"


def _unmapped_region(space: AddressSpace, va: VA, access: Access) -> str:
    if va < pgroundup(space.size):
        if access is FETCH:
            return "a heap page that was never touched; heap pages are not executable"
        return f"a page below the break ({space.size:#x}) that is not mapped, with lazy allocation off"
    if access is not FETCH and va - pgrounddown(space.size) < NEAR:
        return f"an address above the break ({space.size:#x}); grow it with sbrk first"
    return f"an address that nothing maps: the break is {space.size:#x}"
