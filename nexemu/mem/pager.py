"""Demand paging: when frames run out, a page leaves for the swap area, and comes back on its fault.

Mechanism only: which page leaves is the evictor's choice. It sees page numbers and asks about them
through :class:`nexemu.policy.Pages`, which this is.

A swapped-out PTE has V clear, PTE_SWAP set, its rights in place and the slot where the frame was.
Frames that are shared, as after fork, leave from all their page tables at once and are shared
again when a second owner brings them back. A frame that came from a slot and was not written
since need not be written again; ``_slot_of`` and ``_frame_of`` remember those pairs.
"""

from collections.abc import Callable, Iterable
from typing import Final

from nexemu.errors import OutOfMemory
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.rmap import Mapping, ReverseMap, any_has, movable, page_number
from nexemu.mem.swap import SwapArea
from nexemu.mem.vm import AddressSpace
from nexemu.policy import Evictor, Pages
from nexemu.riscv import (
    PA,
    PGSIZE,
    PTE,
    PTE_A,
    PTE_COW,
    PTE_D,
    PTE_RWX,
    PTE_SWAP,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    VA,
    pa2pte,
)

RIGHTS = PTE_RWX | PTE_U | PTE_COW
LEAST: Final = 4
"""Frames that page tables and the like may not have. One instruction can need four pages at once: two that it
lies on, and two that it stores to. With fewer it would never end, each page driving another one out."""


class Pager(Pages):
    """``spaces`` gives the address spaces whose pages may leave. ``shootdown`` makes the hart forget all
    translations: a page may leave in the middle of an instruction of its owner."""

    __slots__ = (
        "swap",
        "_frames",
        "_evictor",
        "_spaces",
        "_shootdown",
        "_rmap",
        "_patience",
        "_keep",
        "_slot_of",
        "_frame_of",
    )

    def __init__(
        self,
        frames: FrameAllocator,
        swap: SwapArea,
        evictor: Evictor,
        spaces: Callable[[], Iterable[AddressSpace]],
        shootdown: Callable[[], None],
    ) -> None:
        self.swap = swap
        self._frames = frames
        self._evictor = evictor
        self._spaces = spaces
        self._shootdown = shootdown
        self._rmap = ReverseMap()
        self._patience = 0  # victims until the next look at all page tables
        self._keep: PA | None = None
        self._slot_of: dict[PA, int] = {}
        self._frame_of: dict[int, PA] = {}

    # ---- out ----------------------------------------------------------------------------------

    def reclaim(self, incoming: int, keep: PA | None) -> None:
        """Make at least one frame free, but not ``keep``. Raises OutOfMemory."""
        self._keep = keep
        free = self._frames.free_frames
        while self._frames.free_frames == free:
            fresh = self._patience <= 0
            if fresh:
                self._look()
            self._patience -= 1
            page = self._evictor.victim(incoming, self)
            if page is not None:
                self._page_out(page)
            elif fresh:
                raise OutOfMemory("no frame is left, and no page that could leave")
            else:
                self._patience = 0
        self._shootdown()

    def spare(self) -> None:
        """Raise OutOfMemory unless enough frames are left for pages when the kernel has one more."""
        if self._frames.free_frames <= LEAST and movable(self._spaces(), self._frames, LEAST + 1) <= LEAST:
            raise OutOfMemory(f"the last {LEAST} frames are for the pages of programs")

    def _look(self) -> None:
        """Learn which pages are in memory, and tell the evictor which came and went by themselves."""
        changes = self._rmap.look(self._spaces())
        for page in changes.gone:
            self._evictor.remove(page)
        for page in changes.came:
            self._evictor.admit(page)
        self._evictor.tick(self)
        self._patience = 1 + len(self._rmap) // 16

    def _page_out(self, page: int) -> None:
        """Swap ``page`` out, unless it went by itself since the last look. Raises OutOfMemory."""
        frame, mappings = self._rmap.frame(page), self._rmap.mappings(page)
        self._rmap.remove(page)
        if frame is None:
            return
        slot = self._stored(frame, mappings)
        for mapping in mappings:
            mapping.space.table.words[mapping.at] = slot << 10 | mapping.pte & RIGHTS | PTE_SWAP
            mapping.space.epoch += 1
            self.swap.hold(slot)
            self._frames.kfree(frame)
        self.swap.drop(slot)

    def _stored(self, frame: PA, mappings: list[Mapping]) -> int:
        """A slot that holds what ``frame`` holds, referred to once for the caller. Raises OutOfMemory."""
        slot = self._slot_of.get(frame)
        if slot is not None and not any_has(mappings, PTE_D):
            self.swap.hold(slot)
            return slot
        self._forget_slot(frame)
        if self.swap.full:
            self._forget_a_copy()
        return self.swap.store(self._frames.ram.read(frame, PGSIZE))

    def _forget_a_copy(self) -> None:
        """Free a slot whose page is in memory again, if there is one that nobody else needs."""
        copies = (frame for slot, frame in self._frame_of.items() if self.swap.refs[slot] == 1)
        frame = next(copies, None)
        if frame is not None:
            self._forget_slot(frame)

    def _forget_slot(self, frame: PA) -> None:
        slot = self._slot_of.pop(frame, None)
        if slot is not None:
            del self._frame_of[slot]
            self.swap.drop(slot)

    # ---- in -----------------------------------------------------------------------------------

    def bring_in(self, space: AddressSpace, va: VA, index: int) -> PTE:
        """Give the swapped-out page at ``va``, whose PTE is at ``index``, a frame again; its new PTE. Raises
        OutOfMemory."""
        words = space.table.words
        swapped = words[index]
        slot = swapped >> 10
        frame = self._frame_for(slot, page_number(space, va), private=bool(swapped & PTE_W))
        pte = words[index] = pa2pte(frame) | swapped & RIGHTS | PTE_V | PTE_A
        self.swap.drop(slot)
        self.mapped(space, va, frame)
        if pte & PTE_X:
            space.code_changed()
        return pte

    def _frame_for(self, slot: int, page: int, private: bool) -> PA:
        """A frame with the bytes of ``slot``: the one that is in memory already, where it may be shared."""
        present = self._frame_of.get(slot)
        if present is not None and not private:
            self._frames.incref(present)
            return present
        frame = self._frames.kalloc_zeroed(page)
        self._frames.ram.write(frame, self.swap.read(slot))
        if slot not in self._frame_of:
            self.swap.hold(slot)
            self._slot_of[frame], self._frame_of[slot] = slot, frame
        return frame

    # ---- what memory tells us ------------------------------------------------------------------

    def mapped(self, space: AddressSpace, va: VA, frame: PA) -> None:
        """A page fault gave ``space`` a new page at ``va``, in ``frame``."""
        page = self._rmap.add(space, va, alone=self._frames.refcount(frame) == 1)
        if page is not None:
            self._evictor.admit(page)

    def hold(self, swapped: PTE) -> None:
        """One more page table has the swapped-out PTE ``swapped``."""
        self.swap.hold(swapped >> 10)

    def drop(self, swapped: PTE) -> None:
        """One page table fewer has it."""
        self.swap.drop(swapped >> 10)

    def lose(self) -> None:
        """Page tables are about to be freed: look again before believing a mapping."""
        self._patience = 0

    def changed(self, frame: PA) -> None:
        """``frame`` no longer equals any slot: it is free, or about to be written by its one owner."""
        self._forget_slot(frame)
        self._rmap.reused(frame)

    def slots_remembered(self) -> Iterable[int]:
        """The slots that the pager itself refers to."""
        return self._slot_of.values()

    # ---- what the evictor asks ------------------------------------------------------------------

    def accessed(self, page: int) -> bool:
        """Whether any owner used it since this was asked last. The hart forgets the page before it goes on,
        or it would not set A again."""
        self._rmap.frame(page)
        mappings = self._rmap.mappings(page)
        used = any_has(mappings, PTE_A)
        if used:
            for mapping in mappings:
                mapping.space.table.words[mapping.at] &= ~PTE_A
                mapping.space.epoch += 1
        return used

    def dirty(self, page: int) -> bool:
        """Whether it must be written before it leaves."""
        frame = self._rmap.frame(page)
        return frame is not None and (frame not in self._slot_of or any_has(self._rmap.mappings(page), PTE_D))

    def pinned(self, page: int) -> bool:
        """Whether it must stay: it is being copied, or somebody holds it whom we do not see. A page that
        went by itself may be chosen: that costs nothing."""
        frame = self._rmap.frame(page)
        if frame is None:
            return False
        return frame == self._keep or self._frames.refcount(frame) != len(self._rmap.mappings(page))
