"""The vocabulary of the memory lab: what a handler may use, and nothing else.

A handler decides what happens to user memory; everything that it does to the machine goes through
a :class:`Space`, in the words of the kernel: ``walk``, ``mappages``, ``kalloc``. Addresses, PTEs
and frames are plain integers.

xv6: kernel/vm.c and kernel/kalloc.c, as seen by whoever writes page faults and fork
"""

from collections.abc import Iterable
from operator import index

from nexemu.errors import BadAddress, BadCall, OutOfMemory, panic
from nexemu.grade.primitive import Kernel, Op
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import (
    MAXVA,
    PA,
    PGSIZE,
    PTE,
    PTE_A,
    PTE_COW,
    PTE_D,
    PTE_FLAGS,
    PTE_R,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    U64,
    VA,
    Access,
    flags_text,
    pa2pte,
    pgrounddown,
    pgroundup,
    pte2pa,
)

__all__ = (
    "FETCH",
    "MAXVA",
    "PA",
    "PGSIZE",
    "PTE",
    "PTE_A",
    "PTE_COW",
    "PTE_D",
    "PTE_FLAGS",
    "PTE_R",
    "PTE_U",
    "PTE_V",
    "PTE_W",
    "PTE_X",
    "READ",
    "TRAPFRAME",
    "VA",
    "WRITE",
    "Access",
    "BadAddress",
    "BadCall",
    "OutOfMemory",
    "Space",
    "flags_text",
    "pa2pte",
    "panic",
    "pgrounddown",
    "pgroundup",
    "pte2pa",
)

READ, WRITE, FETCH = Access.READ, Access.WRITE, Access.FETCH
"""What the program wanted to do: load, store, or execute."""


class Space:
    """The memory of one process, for as long as the call that was given it lasts."""

    __slots__ = ("_handle", "_kernel")

    def __init__(self, kernel: Kernel, handle: int) -> None:
        self._kernel = kernel
        self._handle = handle

    def __repr__(self) -> str:
        return f"<Space of pid {self.pid}>"

    def _do(self, op: Op, *arguments: int) -> int:
        return self._kernel.number(op, self._handle, *_numbers(op, arguments))

    # ---- the process --------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Whose memory it is; 0 for a child that is not finished."""
        return self._do(Op.PID)

    @property
    def size(self) -> VA:
        """The break: one beyond the last byte that the program may use. Not rounded to pages."""
        return self._do(Op.SIZE)

    @size.setter
    def size(self, size: VA) -> None:
        self._do(Op.SET_SIZE, size)

    @property
    def limit(self) -> VA:
        """The highest break allowed."""
        return self._do(Op.LIMIT)

    # ---- its page table -----------------------------------------------------------------------

    def walk(self, va: VA) -> PTE:
        """The PTE for the page that holds ``va``; 0 where there is none."""
        return self._do(Op.WALK, va)

    def setpte(self, va: VA, pte: PTE) -> None:
        """Store ``pte`` for the page that holds ``va``, making the page tables on the way. Counts of frames
        do not change by it. Raises OutOfMemory."""
        self._do(Op.SETPTE, va, pte)

    def pages(self, start: VA, end: VA) -> list[tuple[VA, PTE]]:
        """The pages from ``start`` up to ``end`` whose PTE is valid, in order: address and PTE. Skips holes,
        and its cost does not depend on how wide they are."""
        flat = self._kernel.numbers(Op.PAGES, self._handle, *_numbers(Op.PAGES, (start, end)))
        return list(zip(flat[::2], flat[1::2], strict=True))

    def mappages(self, va: VA, size: int, pa: PA, flags: int) -> None:
        """Map ``size`` bytes at ``va`` to the frames from ``pa`` on, with ``flags`` and PTE_V. All page
        aligned; a page that is mapped already is a panic. Raises OutOfMemory, then nothing is mapped."""
        self._do(Op.MAPPAGES, va, size, pa, flags)

    def uvmunmap(self, va: VA, npages: int, do_free: bool) -> int:
        """Clear the PTEs of ``npages`` pages from ``va``, skipping holes, and with ``do_free`` give up one
        hold on each frame. The hart forgets these pages. Returns how many were mapped."""
        return self._do(Op.UVMUNMAP, va, npages, bool(do_free))

    def sfence_vma(self) -> None:
        """Make the hart forget every translation of this space. Until then it may use PTEs as they were."""
        self._do(Op.SFENCE_VMA)

    # ---- frames -------------------------------------------------------------------------------

    def kalloc(self) -> PA:
        """A frame full of junk, held once. Raises OutOfMemory."""
        return self._do(Op.KALLOC)

    def kfree(self, pa: PA) -> None:
        """One holder fewer; the last one gives the frame back, and it is filled with junk."""
        self._do(Op.KFREE, pa)

    def incref(self, pa: PA) -> None:
        """One more holder of the frame at ``pa``."""
        self._do(Op.INCREF, pa)

    def refcount(self, pa: PA) -> int:
        """How many hold the frame at ``pa``."""
        return self._do(Op.REFCOUNT, pa)

    def memset(self, pa: PA, byte: int) -> None:
        """Fill the frame at ``pa``, which this call has allocated, with ``byte``."""
        self._do(Op.MEMSET, pa, byte)

    def memmove(self, to: PA, source: PA) -> None:
        """Copy the frame at ``source`` to the frame at ``to``, which this call has allocated."""
        self._do(Op.MEMMOVE, to, source)


def _numbers(op: Op, arguments: Iterable[int]) -> list[int]:
    """``arguments`` as the kernel takes them. Raises ValueError and TypeError."""
    numbers = [index(argument) for argument in arguments]
    if not all(0 <= number <= U64 for number in numbers):
        shown = ", ".join(f"{number:#x}" for number in numbers)
        raise ValueError(f"{op.name.lower()}: numbers have 64 bits and no sign ({shown})")
    return numbers
