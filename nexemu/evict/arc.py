"""The adaptive replacement cache: part of the memory for recent pages, part for frequent ones, and a
memory of what left, which says where the border should be.

A page comes into ``recent``; its second use moves it to ``frequent``. Who is pushed out of either
stays in a list of ghosts: ids without pages. A miss on a ghost of ``recent`` means that it was
too small, one on a ghost of ``frequent`` the opposite, and ``target`` moves.
Megiddo and Modha, FAST 2003, with T1, B1, T2, B2, p for the names here.
"""

from collections import OrderedDict

from nexemu.policy import Evictor, Pages


class Arc(Evictor):
    """For a memory of ``capacity`` pages; it remembers as many ghosts. All four lists have the least
    recently used page first."""

    __slots__ = ("_capacity", "_frequent", "_frequent_ghosts", "_recent", "_recent_ghosts", "_target")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._target = 0.0  # how many pages ``recent`` should have
        self._recent: OrderedDict[int, None] = OrderedDict()
        self._frequent: OrderedDict[int, None] = OrderedDict()
        self._recent_ghosts: OrderedDict[int, None] = OrderedDict()
        self._frequent_ghosts: OrderedDict[int, None] = OrderedDict()

    def touch(self, page: int) -> None:
        self._recent.pop(page, None)
        self._frequent[page] = None
        self._frequent.move_to_end(page)

    def admit(self, page: int) -> None:
        for ghosts in (self._recent_ghosts, self._frequent_ghosts):
            if page in ghosts:
                del ghosts[page]
                self._frequent[page] = None
                return
        self._recent[page] = None

    def victim(self, incoming: int, pages: Pages) -> int | None:
        if incoming in self._recent_ghosts or incoming in self._frequent_ghosts:
            self._adapt(incoming)
        elif len(self._recent) + len(self._recent_ghosts) >= self._capacity:
            if self._recent_ghosts:
                self._recent_ghosts.popitem(last=False)
            elif (victim := _oldest(self._recent, pages)) is not None:
                return victim
        elif len(self._recent_ghosts) + len(self._frequent_ghosts) >= self._capacity:
            self._frequent_ghosts.popitem(last=False)
        return self._replace(incoming, pages)

    def _adapt(self, incoming: int) -> None:
        """Move the border in favour of the list that ``incoming`` should not have left."""
        recent, frequent = len(self._recent_ghosts), len(self._frequent_ghosts)
        if incoming in self._recent_ghosts:
            self._target = min(float(self._capacity), self._target + max(1.0, frequent / recent))
        else:
            self._target = max(0.0, self._target - max(1.0, recent / frequent))

    def _replace(self, incoming: int, pages: Pages) -> int | None:
        """The oldest page of the list that is over its part becomes a ghost."""
        lists = [(self._recent, self._recent_ghosts), (self._frequent, self._frequent_ghosts)]
        excess = len(self._recent) - self._target
        if excess < 0 or (excess == 0 and incoming not in self._frequent_ghosts):
            lists.reverse()
        for entries, ghosts in lists:
            victim = _oldest(entries, pages)
            if victim is not None:
                ghosts[victim] = None
                return victim
        return None

    def remove(self, page: int) -> None:
        for entries in (self._recent, self._frequent, self._recent_ghosts, self._frequent_ghosts):
            entries.pop(page, None)

    def tick(self, pages: Pages) -> None:
        for page in (*self._recent, *self._frequent):
            if pages.accessed(page):
                self.touch(page)


def _oldest(entries: OrderedDict[int, None], pages: Pages) -> int | None:
    """Take the least recently used page that is not pinned."""
    for page in entries:
        if not pages.pinned(page):
            del entries[page]
            return page
    return None
