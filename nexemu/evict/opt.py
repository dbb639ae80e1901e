"""Belady's optimum: the page whose next use is furthest away leaves.

No policy misses less often. It has to know the future, so it runs on recorded traces only, and says
how much any other policy could still gain. Belady, 1966.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from nexemu.policy import Evictor, Pages


class Opt(Evictor):
    """For the reference string ``future``, which must be told in full by ``touch`` and ``admit``.

    A page's next use is a position in the string, beyond its end for one that is not used again; no
    two pages have the same. ``_heap`` holds them negated. Invariant: ``_page_at`` maps the next use
    of each page that is in to the page; positions that it does not hold are stale.
    """

    __slots__ = ("_heap", "_next_use", "_now", "_page_at", "_use_of")

    def __init__(self, future: Sequence[int]) -> None:
        self._next_use = next_uses(future)
        self._now = 0  # the position of the next reference
        self._heap: list[int] = []
        self._page_at: dict[int, int] = {}
        self._use_of: dict[int, int] = {}

    def touch(self, page: int) -> None:
        self._page_at.pop(self._now, None)  # the use that was foreseen is this one
        self.admit(page)

    def admit(self, page: int) -> None:
        use = self._next_use[self._now]
        self._now += 1
        self._page_at[use] = page
        self._use_of[page] = use
        heappush(self._heap, -use)

    def victim(self, incoming: int, pages: Pages) -> int | None:
        passed: list[int] = []
        victim = None
        while self._heap and victim is None:
            use = -heappop(self._heap)
            page = self._page_at.get(use)
            if page is None:
                continue
            if pages.pinned(page):
                passed.append(-use)
            else:
                victim = page
                self.remove(page)
        for entry in passed:
            heappush(self._heap, entry)
        return victim

    def remove(self, page: int) -> None:
        use = self._use_of.pop(page, None)
        if use is not None:
            del self._page_at[use]


def next_uses(trace: Sequence[int]) -> list[int]:
    """For each position, the next one of the same page; for its last use a position after the end, the
    further the later the use.

    >>> next_uses([7, 8, 7])
    [2, 4, 5]
    """
    end = len(trace)
    after: dict[int, int] = {}
    uses = [0] * end
    for position in range(end - 1, -1, -1):
        page = trace[position]
        uses[position] = after.get(page, end + position)
        after[page] = position
    return uses
