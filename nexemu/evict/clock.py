"""CLOCK: FIFO, but a page that was used since the hand passed it gets another round.

What kernels do, because it asks only for the accessed bit that hardware keeps. It behaves like LRU
at the cost of FIFO, and on a loop it fails as both do. Corbató, 1968.
"""

from collections import OrderedDict

from nexemu.policy import Evictor, Pages


class Clock(Evictor):
    """The pages in a circle, as a queue whose head is where the hand points. To move the hand is to send
    the head to the tail; a new page comes in just behind the hand.

    A page is used if its bit in the hardware is set, or if a use of it was told of.
    """

    __slots__ = ("_ring", "_used")

    def __init__(self) -> None:
        self._ring: OrderedDict[int, None] = OrderedDict()
        self._used: set[int] = set()

    def touch(self, page: int) -> None:
        self._used.add(page)

    def admit(self, page: int) -> None:
        self._ring[page] = None

    def victim(self, incoming: int, pages: Pages) -> int | None:
        for _ in range(2 * len(self._ring)):  # after one round nothing is used any more
            page = next(iter(self._ring))
            if not pages.pinned(page) and not self._test_and_clear(page, pages):
                del self._ring[page]
                return page
            self._ring.move_to_end(page)
        return None

    def _test_and_clear(self, page: int, pages: Pages) -> bool:
        used = pages.accessed(page) or page in self._used
        self._used.discard(page)
        return used

    def remove(self, page: int) -> None:
        self._ring.pop(page, None)
        self._used.discard(page)
