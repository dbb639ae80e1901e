"""Demand paging: when frames run out, a page leaves for the swap area, and comes back on its fault.

Mechanism only: which page leaves is the evictor's choice. It sees page numbers, made of a pid and
a virtual page, and asks about them through :class:`nexemu.policy.Pages`, which this is.

A swapped-out PTE has V clear, PTE_SWAP set, its rights in place and the slot where the frame was.
Frames that are shared, as after fork, leave from all their page tables at once and are shared
again when a second owner brings them back. A frame that came from a slot and was not written
since need not be written again; ``_slot_of`` and ``_frame_of`` remember those pairs.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from nexemu.errors import OutOfMemory
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.swap import SwapArea
from nexemu.mem.vm import AddressSpace
from nexemu.memlayout import TRAPFRAME
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
    pgrounddown,
    pte2pa,
)

RIGHTS = PTE_RWX | PTE_U | PTE_COW


class Mapping(NamedTuple):
    """One PTE that points at a page: whose, where it is, and which page it maps."""

    space: AddressSpace
    at: int
    va: VA


def page_number(space: AddressSpace, va: VA) -> int:
    """The evictor's name for a page."""
    return space.pid << 26 | va >> 12


class Pager(Pages):
    """``spaces`` gives the address spaces whose pages may leave. ``shootdown`` makes the hart forget all
    translations: a page may leave in the middle of an instruction of its owner."""

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
        self._mappings: dict[int, list[Mapping]] = {}  # by page number, as of the last look
        self._page_in: dict[PA, int] = {}  # the page number of what each frame holds
        self._patience = 0  # victims until the next look
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
                self._page_out(self._mappings.pop(page))
            elif fresh:
                raise OutOfMemory("no frame is left, and no page that could leave")
            else:
                self._patience = 0
        self._shootdown()

    def _look(self) -> None:
        """Learn which pages are in memory, and tell the evictor which came and went by themselves."""
        by_frame: dict[PA, list[Mapping]] = {}
        for space in self._spaces():
            for leaf in space.table.leaves(0, TRAPFRAME):
                if leaf.pte & PTE_U:
                    by_frame.setdefault(pte2pa(leaf.pte), []).append(Mapping(space, leaf.at, leaf.va))
        seen = {page_number(found[0].space, found[0].va): found for found in by_frame.values()}
        self._page_in = dict(zip(by_frame, seen, strict=True))
        for page in self._mappings.keys() - seen.keys():
            self._evictor.remove(page)
        for page in [page for page in seen if page not in self._mappings]:
            self._evictor.admit(page)
        self._mappings = seen
        self._evictor.tick(self)
        self._patience = 1 + len(seen) // 16

    def _page_out(self, mappings: list[Mapping]) -> None:
        """Swap the page of ``mappings`` out, unless it went by itself since the last look."""
        first = mappings[0]
        pte = first.space.table.words[first.at]
        if not pte & PTE_V:
            return
        frame = pte2pa(pte)
        slot = self._stored(frame, mappings)
        for mapping in mappings:
            words = mapping.space.table.words
            words[mapping.at] = slot << 10 | words[mapping.at] & RIGHTS | PTE_SWAP
            mapping.space.epoch += 1
            self.swap.hold(slot)
            self._frames.kfree(frame)
        self.swap.drop(slot)

    def _stored(self, frame: PA, mappings: list[Mapping]) -> int:
        """A slot that holds what ``frame`` holds, referred to once for the caller. Raises OutOfMemory."""
        slot = self._slot_of.get(frame)
        if slot is not None and not self._any(mappings, PTE_D):
            self.swap.hold(slot)
            return slot
        self.changed(frame)
        slot = self.swap.allocate()
        self.swap.write(slot, self._frames.ram.read(frame, PGSIZE))
        return slot

    # ---- in -----------------------------------------------------------------------------------

    def bring_in(self, space: AddressSpace, va: VA, index: int) -> PTE:
        """Give the swapped-out page at ``va``, whose PTE is at ``index``, a frame again; its new PTE. Raises
        OutOfMemory."""
        words = space.table.words
        swapped = words[index]
        slot = swapped >> 10
        page = page_number(space, va)
        frame = self._frame_for(slot, page, private=bool(swapped & PTE_W))
        pte = words[index] = pa2pte(frame) | swapped & RIGHTS | PTE_V | PTE_A
        self.swap.drop(slot)
        self._admit(page, frame, Mapping(space, index, pgrounddown(va)))
        if pte & PTE_X:
            space.code_changed()
        return pte

    def _admit(self, page: int, frame: PA, mapping: Mapping) -> None:
        """``page`` came in: alone, or to join others in a frame that we know. What fits neither is learnt at
        the next look; until then it stays."""
        if self._frames.refcount(frame) == 1 and page not in self._mappings:
            self._evictor.admit(page)
            self._mappings[page] = [mapping]
            self._page_in[frame] = page
        elif frame in self._page_in:
            self._mappings[self._page_in[frame]].append(mapping)

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

    def mapped(self, space: AddressSpace, va: VA) -> None:
        """A page fault gave ``space`` a new page at ``va``."""
        index = space.table.lookup(va)
        frame = pte2pa(space.table.words[index])
        self._admit(page_number(space, va), frame, Mapping(space, index, pgrounddown(va)))

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
        slot = self._slot_of.pop(frame, None)
        if slot is not None:
            del self._frame_of[slot]
            self.swap.drop(slot)
        self._page_in.pop(frame, None)

    def slots_remembered(self) -> Iterable[int]:
        """The slots that the pager itself refers to."""
        return self._slot_of.values()

    # ---- what the evictor asks ------------------------------------------------------------------

    def accessed(self, page: int) -> bool:
        """Whether any owner used it since this was asked last. The hart forgets the page before it goes on,
        or it would not set A again."""
        mappings = self._mappings[page]
        used = self._any(mappings, PTE_A)
        if used:
            for mapping in mappings:
                mapping.space.table.words[mapping.at] &= ~PTE_A
                mapping.space.epoch += 1
        return used

    def dirty(self, page: int) -> bool:
        """Whether it must be written before it leaves."""
        mappings = self._mappings[page]
        frame = pte2pa(mappings[0].space.table.words[mappings[0].at])
        return frame not in self._slot_of or self._any(mappings, PTE_D)

    def pinned(self, page: int) -> bool:
        """Whether it must stay: it is being copied, or somebody holds it whom we do not see."""
        mappings = self._mappings[page]
        pte = mappings[0].space.table.words[mappings[0].at]
        frame = pte2pa(pte)
        return bool(pte & PTE_V) and (frame == self._keep or self._frames.refcount(frame) != len(mappings))

    def _any(self, mappings: list[Mapping], bit: int) -> bool:
        return any(mapping.space.table.words[mapping.at] & bit for mapping in mappings)
