"""The reverse map: from a page back to all the PTEs that map it.

Owns, for each page in memory that may leave, the list of its mappings. They are learnt by looking at
all page tables now and then, so they may be out of date in between. Invariant: each mapping is at
a last-level table that still exists; whether its PTE still maps the page is asked anew each time.

Linux: mm/rmap.c, which keeps what this looks up
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.vm import AddressSpace
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import PA, PTE, PTE_U, PTE_V, VA, pgrounddown, pte2pa


class Mapping(NamedTuple):
    """One PTE that points at a page: whose, where it is, and which page it maps."""

    space: AddressSpace
    at: int
    va: VA

    @property
    def pte(self) -> PTE:
        """As it stands now."""
        return self.space.table.words[self.at]


class Changes(NamedTuple):
    """What a look found: pages that nobody had told of, and pages that are no longer there."""

    came: list[int]
    gone: list[int]


def page_number(space: AddressSpace, va: VA) -> int:
    """The evictor's name for a page: made of a pid and a virtual page."""
    return space.pid << 26 | va >> 12


def movable(spaces: Iterable[AddressSpace], frames: FrameAllocator, enough: int) -> int:
    """How many frames are free, or hold a page of ``spaces`` and nothing else refers to them; counted up to
    ``enough``."""
    found = frames.free_frames
    seen: Counter[PA] = Counter()
    for mapping in _user_pages(spaces):
        if found >= enough:
            return found
        frame = pte2pa(mapping.pte)
        seen[frame] += 1
        found += seen[frame] == frames.refcount(frame)
    return found


def _user_pages(spaces: Iterable[AddressSpace]) -> Iterator[Mapping]:
    """All that ``spaces`` map for their users below the trapframe."""
    for space in spaces:
        for leaf in space.table.leaves(0, TRAPFRAME):
            if leaf.pte & PTE_U:
                yield Mapping(space, leaf.at, leaf.va)


class ReverseMap:
    """A page that several map is named after the first of them."""

    __slots__ = ("_mappings", "_page_in")

    def __init__(self) -> None:
        self._mappings: dict[int, list[Mapping]] = {}
        self._page_in: dict[PA, int] = {}  # which page each frame holds

    def __len__(self) -> int:
        return len(self._mappings)

    def look(self, spaces: Iterable[AddressSpace]) -> Changes:
        """Learn all that ``spaces`` map for their users below the trapframe."""
        by_frame: dict[PA, list[Mapping]] = {}
        for mapping in _user_pages(spaces):
            by_frame.setdefault(pte2pa(mapping.pte), []).append(mapping)
        seen = {page_number(found[0].space, found[0].va): found for found in by_frame.values()}
        gone = [page for page in self._mappings if page not in seen]
        came = [page for page in seen if page not in self._mappings]
        self._mappings, self._page_in = seen, dict(zip(by_frame, seen, strict=True))
        return Changes(came, gone)

    def add(self, space: AddressSpace, va: VA, alone: bool) -> int | None:
        """``space`` has mapped a page at ``va``: ``alone``, and then it is a new one, whose number is
        returned; or together with others. What fits neither is learnt at the next look."""
        index = space.table.lookup(va)
        mapping = Mapping(space, index, pgrounddown(va))
        frame = pte2pa(mapping.pte)
        page = page_number(space, va)
        if alone and page not in self._mappings:
            self._mappings[page] = [mapping]
            self._page_in[frame] = page
            return page
        known = self._page_in.get(frame)
        if known in self._mappings:
            self._mappings[known].append(mapping)
        return None

    def frame(self, page: int) -> PA | None:
        """Where ``page`` is, after forgetting who has left it since the last look; None when all have."""
        mappings = self._mappings[page]
        while mappings and not mappings[0].pte & PTE_V:
            del mappings[0]
        if not mappings:
            return None
        frame = pte2pa(mappings[0].pte)
        if len(mappings) > 1:
            mappings[:] = [each for each in mappings if each.pte & PTE_V and pte2pa(each.pte) == frame]
        return frame

    def mappings(self, page: int) -> list[Mapping]:
        """Who maps ``page``, as :meth:`frame` left it."""
        return self._mappings[page]

    def remove(self, page: int) -> None:
        """``page`` leaves memory."""
        del self._mappings[page]

    def reused(self, frame: PA) -> None:
        """``frame`` no longer holds the page that it held."""
        self._page_in.pop(frame, None)


def any_has(mappings: Iterable[Mapping], bit: int) -> bool:
    """Whether one of the PTEs has ``bit``."""
    return any(mapping.pte & bit for mapping in mappings)
