"""LRU's misses at every size of memory, from one pass over the trace.

LRU is a stack algorithm: k frames hold the k pages used most recently. So a reference hits in k
frames exactly when at most k - 1 other pages were used since the last use of its page; that number
plus one is its stack distance. Mattson, Gecsei, Slutz and Traiger, 1970.
"""

from collections.abc import Sequence
from typing import Final

FIRST_USE: Final = 0
"""Stands for the distance of a page's first use, which misses in every memory."""


class LastUses:
    """A set of positions in a trace, which counts those after a given one in logarithmic time: a
    Fenwick tree. ``_sums[i]`` counts the members among the last (i & -i) positions up to i."""

    __slots__ = ("_members", "_sums")

    def __init__(self, positions: int) -> None:
        self._sums = [0] * (positions + 1)
        self._members = 0

    def add(self, position: int) -> None:
        self._change(position + 1, 1)

    def remove(self, position: int) -> None:
        self._change(position + 1, -1)

    def _change(self, index: int, by: int) -> None:
        sums = self._sums
        self._members += by
        while index < len(sums):
            sums[index] += by
            index += index & -index

    def count_from(self, position: int) -> int:
        """How many members are at ``position`` or later."""
        before = 0
        while position:
            before += self._sums[position]
            position &= position - 1
        return self._members - before


def stack_distances(trace: Sequence[int]) -> list[int]:
    """The stack distance of each reference, FIRST_USE for a page's first.

    >>> stack_distances([1, 2, 1, 1, 3, 2])
    [0, 0, 2, 1, 0, 3]
    """
    last: dict[int, int] = {}
    uses = LastUses(len(trace))
    distances = []
    for position, page in enumerate(trace):
        before = last.get(page)
        if before is None:
            distances.append(FIRST_USE)
        else:
            distances.append(uses.count_from(before))
            uses.remove(before)
        uses.add(position)
        last[page] = position
    return distances


def lru_misses(trace: Sequence[int], largest: int) -> list[int]:
    """How often LRU misses with k frames, for k from 0 to ``largest``.

    >>> lru_misses([1, 2, 1, 1, 3, 2], largest=3)
    [6, 5, 4, 3]
    """
    hits_at = [0] * (largest + 1)
    for distance in stack_distances(trace):
        if FIRST_USE < distance <= largest:
            hits_at[distance] += 1
    misses, curve = len(trace), []
    for hits in hits_at:
        misses -= hits
        curve.append(misses)
    return curve
