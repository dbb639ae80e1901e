"""Physical frames: who has one, and how many share it.

Owns the free list and one reference count a frame. A frame is free exactly while its count is
zero; :meth:`FrameAllocator.audit` proves that the counts equal the holders that exist.

Fresh frames are filled with 0x05 and freed ones with 0x01, so that whoever reads memory that
is not its own reads junk rather than yesterday's data.

xv6: kernel/kalloc.c, with the reference counts of the COW lab
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Protocol

from nexemu.errors import OutOfMemory, panic
from nexemu.mem.phys import ZERO_PAGE, PhysicalMemory
from nexemu.memlayout import KERNEL_PAGES
from nexemu.riscv import PA, PGMASK, PGSHIFT, PGSIZE, PTE, VA, pte2pa

ALLOC_JUNK = bytes([5]) * PGSIZE
FREE_JUNK = bytes([1]) * PGSIZE


NOBODY: Final = -1
"""As an incoming page: one that the pager does not know."""
KERNEL: Final = -2
"""As an incoming page: none. The frame is for the kernel's own use, and stays."""


class Reclaimer(Protocol):
    """Whoever can free frames when none is left: the pager."""

    def reclaim(self, incoming: int, keep: PA | None) -> None:
        """Free a frame, but not ``keep``, for the page ``incoming``. Raises OutOfMemory."""

    def spare(self) -> None:
        """Raise OutOfMemory unless enough frames are left for pages when the kernel has one more."""

    def changed(self, frame: PA) -> None:
        """``frame`` was freed, or will be written by its one owner."""

    def hold(self, swapped: PTE) -> None:
        """One more page table has this swapped-out PTE."""

    def drop(self, swapped: PTE) -> None:
        """One page table fewer has it."""

    def lose(self) -> None:
        """Page tables are about to be freed: what is known of pages may be wrong from here on."""

    def mapped(self, space: Any, va: VA, frame: PA) -> None:
        """A page fault gave ``space`` a new page at ``va``, in ``frame``."""

    def bring_in(self, space: Any, va: VA, index: int) -> PTE:
        """Give a swapped-out page a frame again; its new PTE. Raises OutOfMemory."""


class FrameAllocator:
    """All frames of ``ram`` but the kernel's own, which lie at its start.

    ``fail_at``: when set to n, the n-th allocation from now raises OutOfMemory (1 is the next
    one), and allocation works again after it. For tests of every path that can run out.
    ``code_epoch``: grows whenever a frame is filled with new instructions.
    """

    __slots__ = ("code_epoch", "fail_at", "pager", "ram", "refs", "total", "_first", "_free", "_frontier")

    def __init__(self, ram: PhysicalMemory) -> None:
        self.ram = ram
        self.fail_at: int | None = None
        self.code_epoch = 0
        self.pager: Reclaimer | None = None
        self._first = ram.base + KERNEL_PAGES * PGSIZE
        self.total = (ram.end - self._first) >> PGSHIFT
        self.refs = [0] * (ram.size >> PGSHIFT)
        self._free: list[PA] = []  # frames that were used once, the last freed on top
        self._frontier = self._first  # frames from here to the end were never used

    @property
    def free_frames(self) -> int:
        """How many frames nobody holds."""
        return len(self._free) + ((self.ram.end - self._frontier) >> PGSHIFT)

    @property
    def used_frames(self) -> int:
        """How many frames somebody holds."""
        return self.total - self.free_frames

    def kalloc(self, incoming: int = NOBODY) -> PA:
        """A frame full of junk, held once; ``incoming`` tells the pager what for. Raises OutOfMemory."""
        pa = self._take(incoming)
        self.ram.write(pa, ALLOC_JUNK)
        return pa

    def kalloc_zeroed(self, incoming: int = NOBODY) -> PA:
        """A frame full of zeros, held once; ``incoming`` tells the pager what for. Raises OutOfMemory."""
        untouched = self._frontier  # full of the host's own zeros
        pa = self._take(incoming)
        if pa != untouched:
            start = pa - self.ram.base
            self.ram.bytes[start : start + PGSIZE] = ZERO_PAGE
        return pa

    def kalloc_copy(self, source: PA, incoming: int = NOBODY) -> PA:
        """A frame with the bytes of the one at ``source``, held once; ``incoming`` tells the pager what for.
        Raises OutOfMemory."""
        copy = self._take(incoming, source)
        self.ram.copy_page(source, copy)
        return copy

    def _take(self, incoming: int = NOBODY, keep: PA | None = None) -> PA:
        """A free frame, held once from here on, whatever it contains."""
        if self.fail_at is not None:
            self._count_down_to_failure()
        if incoming == KERNEL and self.pager is not None:
            self.pager.spare()
        ram = self.ram
        if self._free:
            pa = self._free.pop()
        elif self._frontier < ram.end:
            pa = self._frontier
            self._frontier = pa + PGSIZE
        elif self.pager is not None:
            self.pager.reclaim(incoming, keep)
            pa = self._free.pop()
        else:
            raise OutOfMemory("no frame is left")
        self.refs[(pa - ram.base) >> 12] = 1
        return pa

    def _count_down_to_failure(self) -> None:
        assert self.fail_at is not None
        self.fail_at -= 1
        if self.fail_at <= 0:
            self.fail_at = None
            raise OutOfMemory("kalloc: failure injected by a test")

    def incref(self, pa: PA) -> None:
        """One more holder of the frame at ``pa``, which must be held already."""
        index = (pa - self.ram.base) >> 12
        if pa & PGMASK or not 0 <= index < len(self.refs) or self.refs[index] < 1:
            panic(f"incref: nobody holds a frame at {pa:#x}")
        self.refs[index] += 1

    def incref_leaves(self, leaves: list[PTE]) -> None:
        """One more holder of the frame of each of these leaf PTEs, all of which are held."""
        refs, first_frame = self.refs, self.ram.base >> PGSHIFT
        for pte in leaves:
            refs[(pte >> 10) - first_frame] += 1

    def kfree(self, pa: PA) -> None:
        """One holder fewer; the last one gives the frame back."""
        refs = self.refs
        index = (pa - self.ram.base) >> PGSHIFT
        if pa & PGMASK or not 0 <= index < len(refs) or refs[index] < 1:
            panic(f"kfree: nobody holds a frame at {pa:#x}")
        refs[index] -= 1
        if refs[index] == 0:
            start = index << PGSHIFT
            self.ram.bytes[start : start + PGSIZE] = FREE_JUNK
            self._free.append(pa)
            if self.pager is not None:
                self.pager.changed(pa)

    def kfree_leaves(self, leaves: list[PTE]) -> None:
        """One holder fewer of the frame of each of these leaf PTEs."""
        refs, first_frame = self.refs, self.ram.base >> PGSHIFT
        for pte in leaves:
            index = (pte >> 10) - first_frame
            if 0 <= index < len(refs) and refs[index] > 1:
                refs[index] -= 1
            else:
                self.kfree(pte2pa(pte))

    def unshare(self, pa: PA) -> PA:
        """A frame with the bytes at ``pa`` that the caller alone holds, in exchange for its hold on
        ``pa``: ``pa`` itself where nobody else holds it, else a copy. Raises OutOfMemory."""
        index = (pa - self.ram.base) >> 12
        if self.refs[index] == 1:
            return pa
        copy = self._take(NOBODY, pa)
        self.ram.copy_page(pa, copy)
        self.refs[index] -= 1
        return copy

    def refcount(self, pa: PA) -> int:
        """How many hold the frame at ``pa``; 0 means free."""
        return self.refs[(pa - self.ram.base) >> PGSHIFT]

    def audit(self, holders: Iterable[PA]) -> None:
        """Panic unless every count equals the times its frame occurs in ``holders``, and every
        frame is either counted or on the free list, never both."""
        held = Counter(holders)
        free = set(self._free)
        if len(free) != len(self._free):
            panic("audit: a frame is on the free list twice")
        handed_out = range(self._first, self._frontier, PGSIZE)
        for pa in handed_out:
            count = self.refcount(pa)
            if count != held[pa]:
                panic(f"audit: frame {pa:#x} has count {count}, {held[pa]} hold it")
            if (count == 0) != (pa in free):
                panic(f"audit: frame {pa:#x} has count {count}, on the free list: {pa in free}")
        for pa in free.union(held):
            if pa not in handed_out:
                panic(f"audit: {pa:#x} is held, or on the free list, and was never handed out")
