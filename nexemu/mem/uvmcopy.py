"""``fork``'s half of memory: the child's pages, shared copy-on-write or copied at once.

xv6: uvmcopy() in kernel/vm.c, and the COW lab. ABI.md section 7.
"""

from array import array

from nexemu.mem.area import Area
from nexemu.mem.kalloc import KERNEL, NOBODY, FrameAllocator
from nexemu.mem.sv39 import LeafTable
from nexemu.mem.vm import AddressSpace, Copied
from nexemu.riscv import (
    ENTRIES,
    PGSIZE,
    PTE,
    PTE_COW,
    PTE_FLAGS,
    PTE_SWAP,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    VA,
    pa2pte,
    pgroundup,
    pte2pa,
)


def uvmcopy(parent: AddressSpace, child: AddressSpace) -> Copied:
    """Give the fresh ``child`` the parent's memory: break, pages and mmap areas.

    Copy-on-write: a writable page loses W and gains COW on both sides, any other is shared as it is.
    Untouched pages stay untouched in both; pages of mmap areas are always copied. Raises
    OutOfMemory: the caller frees the child, and pages that the parent had begun to share become
    its own again at their next store.
    """
    end = pgroundup(parent.size)
    shared = copied = 0
    child.size = parent.size
    if parent.paging.cow:
        parent.epoch += 1
        for table in list(parent.table.leaf_tables(0, end)):
            shared += _share(parent, child, table, end)
    else:
        copied += _copy(parent, child, 0, end)
    for area in parent.areas:
        child.areas.append(Area(area.start, area.length, area.prot, area.backing, area.offset))
        if area.backing is not None:
            area.backing.hold()
        copied += _copy(parent, child, area.start, area.end)
    return Copied(shared, copied)


def _share(parent: AddressSpace, child: AddressSpace, table: LeafTable, end: VA) -> int:
    """Share the pages of one last-level table below ``end``. Returns how many."""
    words = parent.table.words
    beyond = table.at + min(ENTRIES, (end - table.va) // PGSIZE)
    to_child = child.table.walk(table.va) - table.at
    shared = 0
    for row in parent.table.rows(table.at, beyond):
        entries = words[row].tolist()
        shared += _hold(parent.frames, entries)
        both = array("Q", [pte & ~PTE_W | PTE_COW if pte & PTE_W else pte for pte in entries])
        words[row] = words[row.start + to_child : row.stop + to_child] = both
    return shared


def _hold(frames: FrameAllocator, entries: list[PTE]) -> int:
    """One more page table has these entries. Returns how many have a page in memory."""
    valid = [pte for pte in entries if pte & PTE_V]
    frames.incref_leaves(valid)
    if frames.pager is not None:
        for pte in entries:
            if pte and not pte & PTE_V:
                frames.pager.hold(pte)
    return len(valid)


def _copy(parent: AddressSpace, child: AddressSpace, start: VA, end: VA) -> int:
    """Copy every page from ``start`` up to ``end`` that is in memory or swapped out. Returns how many."""
    frames, words = parent.frames, parent.table.words
    count = executable = 0
    for leaf in parent.table.leaves(start, end, PTE_V | PTE_SWAP):
        index = child.table.walk(leaf.va)  # this may swap the page out, so look at its PTE afterwards
        pte = words[leaf.at]
        if frames.pager is not None and not pte & PTE_V:
            pte = frames.pager.bring_in(parent, leaf.va, leaf.at)
        copy = frames.kalloc_copy(pte2pa(pte), NOBODY if pte & PTE_U else KERNEL)  # a guard page stays
        child.table.words[index] = pa2pte(copy) | pte & PTE_FLAGS
        executable |= pte & PTE_X
        count += 1
    if executable:
        child.code_changed()
    return count
