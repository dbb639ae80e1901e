"""Which frames a handler may name.

A handler may name the frames of user memory: those that it allocated, and those that it found mapped
in the spaces that it was called for (``exec`` has put the program there). Never a frame that holds a
page table, a trapframe or a pipe. It may write only into frames that it allocated in the present
call, so that no program's memory changes behind the program's back.

Invariant: a frame in ``_own`` is held, and was user memory ever since it is there.
"""

from collections.abc import Iterable

from nexemu.errors import panic
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.vm import AddressSpace
from nexemu.riscv import PA, PTE, pte2pa


class UserFrames:
    """The frames of ``frames`` that are user memory, as far as the handler had to do with them."""

    def __init__(self, frames: FrameAllocator) -> None:
        self._frames = frames
        self._own: set[PA] = set()
        self._fresh: set[PA] = set()  # allocated in this call
        self._freed: set[PA] = set()  # given back in this call
        self._unseen: list[AddressSpace] = []  # spaces of this call whose pages were not looked at yet

    def begin(self, spaces: Iterable[AddressSpace]) -> None:
        """A new call, about ``spaces``."""
        self._fresh.clear()
        self._freed.clear()
        self._unseen = list(spaces)

    def allocate(self) -> PA:
        """A fresh frame full of junk. Raises OutOfMemory."""
        pa = self._frames.kalloc()
        self._own.add(pa)
        self._fresh.add(pa)
        self._freed.discard(pa)
        return pa

    def drop(self, pa: PA) -> None:
        """One holder fewer of a frame that is user memory."""
        self._frames.kfree(pa)
        if not self._frames.refcount(pa):
            self._own.discard(pa)
            self._fresh.discard(pa)
            self._freed.add(pa)

    def drop_leaves(self, leaves: list[PTE]) -> None:
        """One holder fewer of the frame of each of these leaf PTEs."""
        for pte in leaves:
            self.drop(pte2pa(pte))

    def unmapped(self, leaves: list[PTE]) -> None:
        """These leaf PTEs are gone; their frames were user memory, and the handler may still name them."""
        frames = [pte2pa(pte) for pte in leaves]
        self._own.update(frame for frame in frames if self._frames.refcount(frame))

    def check(self, pa: PA, who: str) -> None:
        """Panic unless ``pa`` is the frame of a user page."""
        if pa not in self._own and not self._found_mapped(pa):
            panic(f"{who}: {pa:#x} is not the frame of a user page of this process")

    def check_fresh(self, pa: PA, who: str) -> None:
        """Panic unless ``pa`` was allocated in this call."""
        if pa not in self._fresh:
            panic(f"{who}: {pa:#x} was not allocated in this call; what a program can see stays as it is")

    def check_readable(self, pa: PA, who: str) -> None:
        """Panic unless ``pa`` is user memory, or was when this call began."""
        if pa not in self._freed:
            self.check(pa, who)

    def _found_mapped(self, pa: PA) -> bool:
        """Look at the pages of this call's spaces, once: all of them are user memory."""
        for space in self._unseen:
            self._own.update(pte2pa(leaf.pte) for leaf in space.table.leaves(0, space.limit))
        self._unseen.clear()
        return pa in self._own
