"""The primitives, carried out: the only hands that a handler has.

Whatever a handler asks for, the machine stays sound: a handler can mismanage the pages of the spaces
that the present call is about, below their mmap areas, and nothing else. It cannot name a frame that
holds a page table, a trapframe or another process's data (:class:`UserFrames` sees to that), and
cannot write into a frame that a program may already have seen. What it asks for beyond that is a
panic, as it would be in a kernel.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from nexemu.errors import panic
from nexemu.grade.primitive import Op
from nexemu.grade.student.userframes import UserFrames
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.vm import AddressSpace
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import (
    PA,
    PGMASK,
    PGSIZE,
    PTE,
    PTE_FLAGS,
    PTE_RESERVED,
    PTE_V,
    PTE_X,
    VA,
    pgrounddown,
    pte2pa,
)

CALL_BUDGET: Final = 30_000
"""Primitives that one call may use: ten times what a wasteful one needs."""
TOTAL_BUDGET: Final = 100_000
"""Primitives that all calls of one machine may use, where there is a limit at all."""
NUMBERS_FOR_ONE: Final = 16
"""So many numbers of PAGES cost as much as another primitive."""


class OutOfBudget(Exception):
    """A handler asked for more primitives than any sensible one needs."""


class Primitives:
    """Carries primitives out on the spaces of the call that is under way. ``limited``: budgets apply."""

    def __init__(self, frames: FrameAllocator, limited: bool) -> None:
        self.frames = frames
        self._limited = limited
        self._call = self._total = 0
        self._spaces: dict[int, AddressSpace] = {}
        self._next_handle = 0
        self.user = UserFrames(frames)

    def begin(self, spaces: Sequence[AddressSpace]) -> list[int]:
        """A call of the handler begins: from now on it is about ``spaces``. Their handles."""
        first = self._next_handle
        self._next_handle += len(spaces)
        self._spaces = dict(enumerate(spaces, first))
        self.user.begin(spaces)
        self._call = 0
        return list(self._spaces)

    def number(self, op: Op, handle: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
        """Carry ``op`` out; see :class:`~nexemu.grade.primitive.Kernel`."""
        return NUMBER_OPS[op](self, self._begin_op(op, handle), a, b, c, d) or 0

    def numbers(self, op: Op, handle: int, a: int, b: int) -> list[int]:
        """The valid pages from ``a`` up to ``b``: addresses and PTEs in turns."""
        space = self._begin_op(op, handle)
        found = [
            number for leaf in space.table.leaves(a, min(b, space.limit)) for number in (leaf.va, leaf.pte)
        ]
        self._spend(len(found) // NUMBERS_FOR_ONE)
        return found

    def _spend(self, primitives: int) -> None:
        self._call += primitives
        self._total += primitives
        if self._limited and self._call > CALL_BUDGET:
            raise OutOfBudget(f"more than {CALL_BUDGET:,} calls of the kernel in one go")
        if self._limited and self._total > TOTAL_BUDGET:
            raise OutOfBudget(f"more than {TOTAL_BUDGET:,} calls of the kernel in one test")

    def _begin_op(self, op: Op, handle: int) -> AddressSpace:
        self._spend(1)
        space = self._spaces.get(handle)
        if space is None:
            panic(f"{op.name.lower()}: this Space belongs to a call that is over")
        return space

    # ---- page tables --------------------------------------------------------------------------

    def _user_pages(self, space: AddressSpace, start: VA, end: VA, who: str) -> None:
        if end > space.limit:
            panic(f"{who}: {end - 1:#x} is above the highest break allowed, {space.limit:#x}")

    def setpte(self, space: AddressSpace, va: VA, pte: PTE, c: int, d: int) -> None:
        """Store a PTE that names no frame but a user's."""
        page = pgrounddown(va)
        self._user_pages(space, page, page + PGSIZE, "setpte")
        if pte & PTE_RESERVED:
            panic(f"setpte: {pte:#x} has reserved bits")
        if pte & PTE_V:
            self.user.check(pte2pa(pte), "setpte")
        index = space.table.walk(va)
        before = space.table.words[index]
        if before & PTE_V:
            self.user.unmapped([before])
        space.table.words[index] = pte
        if pte & PTE_V and pte & PTE_X and pte2pa(pte) != pte2pa(before):
            space.code_changed()

    def mappages(self, space: AddressSpace, va: VA, size: int, pa: PA, flags: int) -> None:
        """Map frames, each of them a user's."""
        if (va | size | pa) & PGMASK or not size:
            panic(f"mappages: {va:#x}+{size:#x} to {pa:#x} is not aligned")
        self._user_pages(space, va, va + size, "mappages")
        for offset in range(0, size, PGSIZE):
            self.user.check(pa + offset, "mappages")
        if flags & ~PTE_FLAGS:
            panic(f"mappages: {flags:#x} has more than flags")
        space.table.mappages(va, size, pa, flags)
        if flags & PTE_X:
            space.code_changed()

    def uvmunmap(self, space: AddressSpace, va: VA, npages: int, do_free: int, d: int) -> int:
        """Unmap, and make the hart forget."""
        if va & PGMASK:
            panic(f"uvmunmap: {va:#x} is not aligned")
        end = va + npages * PGSIZE
        self._user_pages(space, va, end, "uvmunmap")
        count = space.table.unmap(va, end, self.user.drop_leaves if do_free else self.user.unmapped)
        space.epoch += 1
        return count

    def set_size(self, space: AddressSpace, size: VA, b: int, c: int, d: int) -> None:
        """Move the break."""
        if size > space.limit:
            panic(f"size: {size:#x} is above the highest break allowed, {space.limit:#x}")
        space.size = size

    def sfence_vma(self, space: AddressSpace, a: int, b: int, c: int, d: int) -> None:
        """Take every translation of the space from the hart."""
        space.epoch += 1

    # ---- frames -------------------------------------------------------------------------------

    def kalloc(self, space: AddressSpace, a: int, b: int, c: int, d: int) -> PA:
        """A frame that from now on the handler may name."""
        return self.user.allocate()

    def kfree(self, space: AddressSpace, pa: PA, b: int, c: int, d: int) -> None:
        """One holder fewer of a user's frame."""
        self.user.check(pa, "kfree")
        self.user.drop(pa)

    def incref(self, space: AddressSpace, pa: PA, b: int, c: int, d: int) -> None:
        """One more holder of a user's frame."""
        self.user.check(pa, "incref")
        self.frames.incref(pa)

    def refcount(self, space: AddressSpace, pa: PA, b: int, c: int, d: int) -> int:
        """The holders of a user's frame."""
        self.user.check(pa, "refcount")
        return self.frames.refcount(pa)

    def memset(self, space: AddressSpace, pa: PA, byte: int, c: int, d: int) -> None:
        """Fill a fresh frame."""
        self.user.check_fresh(pa, "memset")
        self.frames.ram.write(pa, bytes([byte & 0xFF]) * PGSIZE)

    def memmove(self, space: AddressSpace, to: PA, source: PA, c: int, d: int) -> None:
        """Copy a user's frame, or one that was a user's when the call began, to a fresh one."""
        self.user.check_fresh(to, "memmove")
        self.user.check_readable(source, "memmove")
        self.frames.ram.write(to, self.frames.ram.read(source, PGSIZE))


def _pid(hands: Primitives, space: AddressSpace, a: int, b: int, c: int, d: int) -> int:
    return space.pid


def _size(hands: Primitives, space: AddressSpace, a: int, b: int, c: int, d: int) -> int:
    return space.size


def _limit(hands: Primitives, space: AddressSpace, a: int, b: int, c: int, d: int) -> int:
    return min(space.limit, TRAPFRAME)


def _walk(hands: Primitives, space: AddressSpace, va: VA, b: int, c: int, d: int) -> PTE:
    return space.table.pte(va)


NUMBER_OPS: Final[Mapping[Op, Callable[[Primitives, AddressSpace, int, int, int, int], int | None]]] = {
    Op.PID: _pid,
    Op.SIZE: _size,
    Op.SET_SIZE: Primitives.set_size,
    Op.LIMIT: _limit,
    Op.WALK: _walk,
    Op.SETPTE: Primitives.setpte,
    Op.MAPPAGES: Primitives.mappages,
    Op.UVMUNMAP: Primitives.uvmunmap,
    Op.SFENCE_VMA: Primitives.sfence_vma,
    Op.KALLOC: Primitives.kalloc,
    Op.KFREE: Primitives.kfree,
    Op.INCREF: Primitives.incref,
    Op.REFCOUNT: Primitives.refcount,
    Op.MEMSET: Primitives.memset,
    Op.MEMMOVE: Primitives.memmove,
}
"""What each primitive does. PAGES is not here: its result is no number."""
