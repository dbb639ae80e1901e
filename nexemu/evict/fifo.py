"""First in, first out: the page that has been in for longest leaves, used or not.

More memory can make it worse: Belady, Nelson and Shedler, 1969.
"""

from collections import OrderedDict

from nexemu.policy import Evictor, Pages


class Fifo(Evictor):
    """A queue of pages in the order in which they came in. Pinned ones are passed over."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: OrderedDict[int, None] = OrderedDict()

    def touch(self, page: int) -> None:
        return

    def admit(self, page: int) -> None:
        self._queue[page] = None

    def victim(self, incoming: int, pages: Pages) -> int | None:
        for page in self._queue:
            if not pages.pinned(page):
                del self._queue[page]
                return page
        return None

    def remove(self, page: int) -> None:
        self._queue.pop(page, None)
