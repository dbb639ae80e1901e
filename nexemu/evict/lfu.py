"""Least frequently used: the page with the fewest uses since it came in leaves.

Right while what is popular stays popular; where it changes, old counts keep dead pages in. A page
that leaves loses its count.
"""

from collections import OrderedDict
from collections.abc import Iterator

from nexemu.policy import Evictor, Pages


class Lfu(Evictor):
    """Pages by their count of uses; among equals, the least recently used leaves. Invariant: a page is in
    ``_having[n]`` exactly when its count is n, and no such queue is empty."""

    __slots__ = ("_count", "_having")

    def __init__(self) -> None:
        self._count: dict[int, int] = {}
        self._having: dict[int, OrderedDict[int, None]] = {}

    def touch(self, page: int) -> None:
        count = self._count[page]
        self._drop(page)
        self._put(page, count + 1)

    def admit(self, page: int) -> None:
        self._put(page, 1)

    def victim(self, incoming: int, pages: Pages) -> int | None:
        for count in self._counts():
            for page in self._having[count]:
                if not pages.pinned(page):
                    self._drop(page)
                    return page
        return None

    def _counts(self) -> Iterator[int]:
        """All, the smallest first. It is nearly always enough, so the others are sorted only on demand."""
        if self._having:
            yield min(self._having)
            yield from sorted(self._having)

    def remove(self, page: int) -> None:
        if page in self._count:
            self._drop(page)

    def tick(self, pages: Pages) -> None:
        for page in list(self._count):
            if pages.accessed(page):
                self.touch(page)

    def _put(self, page: int, count: int) -> None:
        self._count[page] = count
        self._having.setdefault(count, OrderedDict())[page] = None

    def _drop(self, page: int) -> None:
        count = self._count.pop(page)
        del self._having[count][page]
        if not self._having[count]:
            del self._having[count]
