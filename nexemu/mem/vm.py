"""Address spaces: what a process may touch, and how an access becomes a translation.

Owns the page table, the break (``size``, in bytes) and the mmap areas. Invariants: every leaf
below the break or in an area holds one reference on its frame; ``epoch`` grows whenever a right
is taken away, ``code_epoch`` whenever executable bytes change, so that a hart that compares them
on entry never uses a stale translation (``sfence.vma`` and ``fence.i`` by another name).

xv6: kernel/vm.c, uvmcreate() to uvmfree()
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Self, TypeAlias

from nexemu.errors import OutOfMemory, panic
from nexemu.events import Emit
from nexemu.mem.area import Area
from nexemu.mem.kalloc import KERNEL, FrameAllocator
from nexemu.mem.sv39 import PageTable
from nexemu.memlayout import TRAMPOLINE, TRAPFRAME
from nexemu.riscv import (
    MAXVA,
    PA,
    PGSIZE,
    PTE,
    PTE_A,
    PTE_D,
    PTE_R,
    PTE_SWAP,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    RESERVED_SHIFT,
    VA,
    WRITE,
    Access,
    flags_text,
    pgroundup,
)

PTE_RW = PTE_R | PTE_W
"""Of these two, W alone is reserved."""
PTE_AD = PTE_A | PTE_D
NOT_W = ~PTE_W

FaultHandler: TypeAlias = Callable[["AddressSpace", VA, Access], PTE]
"""``handler(space, va, access)`` makes the page at ``va`` usable for ``access`` and returns its PTE, with A
set, and D for a store; or raises BadAddress or OutOfMemory, and then has mapped nothing."""


class Copied(NamedTuple):
    """How many of the parent's pages the child shares, and how many were copied."""

    shared: int
    copied: int


@dataclass(frozen=True, slots=True)
class Handler:
    """The five decisions of the memory lab. The kernel makes them through one of these, and has no
    second way: the built-in one is :data:`nexemu.mem.builtin.BUILTIN`, a student's takes its place."""

    sbrk: Callable[["AddressSpace", int, bool], VA]
    """``sbrk(space, n, eager)`` moves the break and returns the old one; GuestError changes nothing."""
    page_fault: FaultHandler
    """The hart touched a page that its PTE forbids."""
    prepare_copy: FaultHandler
    """A system call is about to touch such a page: copyin to read it, copyout to write it."""
    fork_copy: Callable[["AddressSpace", "AddressSpace"], Copied]
    """``fork_copy(parent, child)`` fills the fresh child. OutOfMemory: the caller frees the child."""
    release: Callable[["AddressSpace"], None]
    """Let go of every page below the trapframe that is still there; the process is gone."""


@dataclass(frozen=True, slots=True)
class Paging:
    """What all address spaces of one kernel have in common: the handler, the two switches, and whoever
    listens."""

    handler: Handler
    lazy: bool = True
    cow: bool = True
    emit: Emit | None = None


@dataclass(slots=True, eq=False)
class AddressSpace:
    """The memory of one process. Made by :meth:`create`, which maps what every process has."""

    frames: FrameAllocator
    paging: Paging
    table: PageTable
    pid: int = 0
    size: int = 0
    areas: list[Area] = field(default_factory=list)  # from the highest address down
    epoch: int = 0
    code_epoch: int = 0
    forbidden: tuple[VA, ...] = ()  # instructions that must not be executed, wherever they lie in the text

    @classmethod
    def create(cls, frames: FrameAllocator, paging: Paging, trampoline: PA) -> Self:
        """A space with the shared ``trampoline`` frame and a trapframe of its own, both out of the
        user's reach. Raises OutOfMemory, then no frame is held."""
        space = cls(frames, paging, PageTable(frames))
        try:
            frames.incref(trampoline)
            space._map_kernel_page(TRAMPOLINE, trampoline, PTE_R | PTE_X)
            space._map_kernel_page(TRAPFRAME, frames.kalloc(KERNEL), PTE_R | PTE_W)
        except OutOfMemory:
            space.free()
            raise
        return space

    def _map_kernel_page(self, va: VA, frame: PA, flags: int) -> None:
        try:
            self.table.mappages(va, PGSIZE, frame, flags)
        except OutOfMemory:
            self.frames.kfree(frame)
            raise

    @property
    def limit(self) -> VA:
        """The highest break allowed: the lowest mmap area, else the trapframe."""
        return self.areas[-1].start if self.areas else TRAPFRAME

    def area_at(self, va: VA) -> Area | None:
        """The mmap area that holds ``va``."""
        return next((area for area in self.areas if area.start <= va < area.end), None)

    def translate(self, va: VA, access: Access, by_kernel: bool = False) -> PTE:
        """The leaf PTE for ``va`` with its right to ``access``, after a page fault if it takes one. W
        is left out of the result while the page is clean, so that the first store comes back and
        sets D. Raises BadAddress or OutOfMemory.

        Privileged Architecture, "Virtual Address Translation Process".
        """
        table = self.table
        leaf_table = table.walk_cache.get(va >> 21)
        index = table.lookup(va) if leaf_table is None else leaf_table + (va >> 12 & 511)
        if index >= 0:
            pte = table.words[index]
            if pte & access == access and not pte >> RESERVED_SHIFT and pte & PTE_RW != PTE_W:
                used = pte | (PTE_AD if access is WRITE else PTE_A)
                if used != pte:
                    table.words[index] = used
                return used if used & PTE_D else used & NOT_W
        handler = self.paging.handler
        pte = (handler.prepare_copy if by_kernel else handler.page_fault)(self, va, access)
        if pte & access != access:
            panic(f"page fault: handled {access.name} at {va:#x}, but the PTE is {flags_text(pte)}")
        return pte if access is WRITE or pte & PTE_D else pte & ~PTE_W

    def code_changed(self) -> None:
        """Executable pages hold other bytes than before, or lie in frames that held others: what a hart
        translated from those is stale."""
        self.frames.code_epoch += 1
        self.code_epoch = self.frames.code_epoch

    def mapped_pages(self) -> int:
        """Pages below the break that are the user's own, in memory or swapped out; memstat shows them."""
        leaves = self.table.leaves(0, pgroundup(self.size), PTE_V | PTE_SWAP)
        return sum(leaf.pte & PTE_U != 0 for leaf in leaves)

    def free(self) -> None:
        """Give everything back: pages, areas, trapframe and tables. The space is dead afterwards."""
        if self.frames.pager is not None:
            self.frames.pager.lose()
        self.paging.handler.release(self)
        self.table.unmap(TRAPFRAME, MAXVA, self.frames.kfree_leaves)
        for area in self.areas:
            if area.backing is not None:
                area.backing.drop()
        self.areas.clear()
        self.table.free()
