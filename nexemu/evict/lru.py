"""Least recently used: the page whose last use is longest ago leaves.

A stack algorithm: what a small memory holds, a larger one holds too, so that more memory never
hurts. It fails on a loop over a little more than fits, and when a scan pushes everything out.
Where only accessed bits are seen, all pages used between two ticks count as used at the tick.
"""

from nexemu.evict.fifo import Fifo
from nexemu.policy import Pages


class Lru(Fifo):
    """The queue of :class:`Fifo`, but a use sends a page to its end.

    >>> from nexemu.evict.replay import Bare
    >>> policy = Lru()
    >>> for page in (1, 2, 3):
    ...     policy.admit(page)
    >>> policy.touch(1)
    >>> policy.victim(4, Bare())
    2
    """

    __slots__ = ()

    def touch(self, page: int) -> None:
        self._queue.move_to_end(page)

    def tick(self, pages: Pages) -> None:
        for page in list(self._queue):
            if pages.accessed(page):
                self._queue.move_to_end(page)
