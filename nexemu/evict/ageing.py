"""Ageing: LRU from accessed bits alone, sampled at every tick.

Each page has eight bits. At a tick they move right, and whether the page was used since the last
tick comes in from the left; the smallest number leaves. So a use counts half as much with
every tick that passes, and after eight of them it is forgotten.
"""

from typing import Final

from nexemu.policy import Evictor, Pages

NEWEST: Final = 1 << 7


class Ageing(Evictor):
    """``_age`` holds the pages in the order in which they came in, which decides among equals.

    >>> from nexemu.evict.replay import Bare
    >>> policy = Ageing()
    >>> policy.admit(1), policy.admit(2)
    (None, None)
    >>> policy.tick(Bare())
    >>> policy.touch(1)
    >>> policy.tick(Bare())
    >>> policy.victim(3, Bare())  # 1 is at 0b11000000, 2 at 0b01000000
    2
    """

    __slots__ = ("_age", "_used")

    def __init__(self) -> None:
        self._age: dict[int, int] = {}
        self._used: set[int] = set()  # since the last tick

    def touch(self, page: int) -> None:
        self._used.add(page)

    def admit(self, page: int) -> None:
        self._age[page] = 0
        self._used.add(page)

    def tick(self, pages: Pages) -> None:
        for page, age in self._age.items():
            used = pages.accessed(page) or page in self._used
            self._age[page] = age >> 1 | (NEWEST if used else 0)
        self._used.clear()

    def victim(self, incoming: int, pages: Pages) -> int | None:
        evictable = (page for page in self._age if not pages.pinned(page))
        victim = min(evictable, key=self._rank, default=None)
        if victim is not None:
            self.remove(victim)
        return victim

    def _rank(self, page: int) -> tuple[bool, int]:
        """A use since the last tick is the most recent of all."""
        return page in self._used, self._age[page]

    def remove(self, page: int) -> None:
        self._age.pop(page, None)
        self._used.discard(page)
