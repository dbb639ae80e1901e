"""Random replacement: any page leaves, each as likely as another.

It remembers nothing, and has no pattern of access on which it always fails: on a loop over a
little more than fits, where LRU misses every time, it misses rarely.
"""

from nexemu.dice import Dice
from nexemu.policy import Evictor, Pages


class RandomPage(Evictor):
    """``seed`` decides the throws; a pinned page passes the lot on to its neighbour. Invariant:
    ``_pages[_index[page]] == page``."""

    __slots__ = ("_dice", "_index", "_pages")

    def __init__(self, seed: int = 0) -> None:
        self._dice = Dice(seed)
        self._pages: list[int] = []
        self._index: dict[int, int] = {}

    def touch(self, page: int) -> None:
        return

    def admit(self, page: int) -> None:
        self._index[page] = len(self._pages)
        self._pages.append(page)

    def victim(self, incoming: int, pages: Pages) -> int | None:
        total = len(self._pages)
        start = self._dice.roll(total) if total else 0
        for place in range(start, start + total):
            page = self._pages[place % total]
            if not pages.pinned(page):
                self.remove(page)
                return page
        return None

    def remove(self, page: int) -> None:
        """The last page takes the place of the one that goes."""
        if page in self._index:
            last = self._pages.pop()
            hole = self._index.pop(page)
            if last != page:
                self._pages[hole] = last
                self._index[last] = hole
