"""The contiguous allocator: every sequence in one run of slots, as servers did before paging.

Owns the holes: runs of free slots, sorted, never empty and never side by side. What it shows is
fragmentation. External: enough slots are free, yet no hole is large enough. Internal: a run was
reserved for the longest output that might come, and most of it stays empty.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from nexemu.errors import OutOfMemory, panic


class Run(NamedTuple):
    """``length`` slots from ``start`` on."""

    start: int
    length: int

    @property
    def end(self) -> int:
        """The first slot behind it."""
        return self.start + self.length


Fit: TypeAlias = Callable[[list[Run]], Run]


def _length(run: Run) -> int:
    return run.length


FITS: Final[Mapping[str, Fit]] = {
    "first": lambda holes: holes[0],
    "best": lambda holes: min(holes, key=_length),
    "worst": lambda holes: max(holes, key=_length),
}
"""Which of the holes that are large enough to take; they come in the order of their addresses."""


class ContiguousAllocator:
    """``total`` slots, in which runs are allocated by a rule of :data:`FITS`."""

    def __init__(self, total: int, fit: str = "first") -> None:
        self.total = total
        self.holes = [Run(0, total)] if total else []
        self._fit = FITS[fit]
        self._lengths: dict[int, int] = {}  # of the runs that are held, by their start

    @property
    def free_slots(self) -> int:
        """How many slots nobody holds."""
        return sum(hole.length for hole in self.holes)

    @property
    def used_slots(self) -> int:
        """How many slots somebody holds."""
        return sum(self._lengths.values())

    @property
    def largest_hole(self) -> int:
        """The largest run that can be allocated now."""
        return max((hole.length for hole in self.holes), default=0)

    def allocate(self, length: int) -> Run:
        """A run of ``length`` slots, at least one. Raises OutOfMemory."""
        if length < 1:
            panic(f"allocate: a run of {length} slots")
        candidates = [hole for hole in self.holes if hole.length >= length]
        if not candidates:
            raise OutOfMemory(f"allocate: {self.free_slots} slots are free, no {length} in one run")
        hole = self._fit(candidates)
        self.holes.remove(hole)
        if hole.length > length:
            insort(self.holes, Run(hole.start + length, hole.length - length))
        self._lengths[hole.start] = length
        return Run(hole.start, length)

    def free(self, run: Run) -> None:
        """Give ``run`` back; it joins the holes beside it."""
        if self._lengths.get(run.start) != run.length:
            panic(f"free: nobody holds {run.length} slots from {run.start} on")
        del self._lengths[run.start]
        before = [hole for hole in self.holes if hole.end == run.start]
        after = [hole for hole in self.holes if hole.start == run.end]
        for hole in before + after:
            self.holes.remove(hole)
        start = min([run, *before]).start
        insort(self.holes, Run(start, max([run, *after]).end - start))

    def audit(self, holders: Iterable[Run]) -> None:
        """Panic unless holes and what ``holders`` hold cover every slot once, and no two holes touch."""
        held = sorted(holders)
        if held != sorted(Run(*item) for item in self._lengths.items()):
            panic("audit: the runs that are held are not those that were allocated")
        end, hole_before = 0, False
        for run, is_hole in sorted([*((run, False) for run in held), *((hole, True) for hole in self.holes)]):
            if run.start != end or run.length < 1 or (is_hole and hole_before):
                panic(f"audit: slots overlap, are lost, or two holes touch at {run.start}")
            end, hole_before = run.end, is_hole
        if end != self.total:
            panic(f"audit: {self.total - end} slots are lost at the end")
