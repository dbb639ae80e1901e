"""``sbrk``: the break moves, and pages come at once (eager), later (lazy), or go at once.

xv6: growproc() and uvmalloc()/uvmdealloc(). ABI.md section 4.
"""

from nexemu.errors import BadCall, OutOfMemory
from nexemu.events import Sbrk
from nexemu.mem.vm import AddressSpace
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_V, PTE_W, VA, pa2pte, pgroundup


def sbrk(space: AddressSpace, n: int, eager: bool) -> VA:
    """Move the break by ``n`` bytes and return the old one. Growth maps its pages now if ``eager``.

    Raises BadCall when the new break would lie below 0 or above ``space.limit``, OutOfMemory when
    eager pages cannot be had; the break and the pages are then as before.
    """
    old, new = space.size, space.size + n
    if not 0 <= new <= max(space.limit, old):
        raise BadCall(f"sbrk: break {new:#x} is outside 0..{space.limit:#x}")
    mapped = freed = 0
    if n < 0:
        freed = uvmdealloc(space, old, new)
    elif eager:
        mapped = uvmalloc(space, old, new, PTE_R | PTE_W | PTE_U)
    space.size = new
    if space.paging.emit is not None:
        space.paging.emit(Sbrk(space.pid, old, new, mapped, freed))
    return old


def uvmalloc(space: AddressSpace, old: int, new: int, flags: int) -> int:
    """Map a zeroed frame with ``flags`` at every page from PGROUNDUP(``old``) up to ``new``. Returns how
    many. Raises OutOfMemory, then none of them is mapped. ``space.size`` is the caller's."""
    first = pgroundup(old)
    words, table = space.table.words, space.table
    for va in range(first, new, PGSIZE):
        try:
            index = table.walk(va)
            words[index] = pa2pte(space.frames.kalloc_zeroed()) | flags | PTE_V
        except OutOfMemory:
            table.unmap(first, va, space.frames.kfree_leaves)
            raise
    return max(0, pgroundup(new) - first) // PGSIZE


def uvmdealloc(space: AddressSpace, old: int, new: int) -> int:
    """Unmap and free the pages from PGROUNDUP(``new``) up to PGROUNDUP(``old``), skipping holes. Returns how
    many there were. ``space.size`` is the caller's."""
    freed = space.table.unmap(pgroundup(new), pgroundup(old), space.frames.kfree_leaves)
    space.epoch += 1
    return freed
