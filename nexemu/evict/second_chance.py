"""Second chance with the dirty bit: rather a clean page than one that must be written first.

The hand of CLOCK goes round up to four times: for a page that is neither used nor dirty; for one
that is dirty but not used, clearing used bits on its way; then both again, and now it finds one.
Also called the enhanced clock, or not recently used (NRU) in circles.
"""

from nexemu.evict.clock import Clock
from nexemu.policy import Pages


class SecondChance(Clock):
    """As :class:`Clock`, whose memory of used pages keeps what the hardware's bit said when it was read,
    so that the rounds that only look change nothing."""

    __slots__ = ()

    def victim(self, incoming: int, pages: Pages) -> int | None:
        for dirty in (False, True, False, True):
            for _ in range(len(self._ring)):
                page = next(iter(self._ring))
                if not pages.pinned(page):
                    if not self._is_used(page, pages) and pages.dirty(page) == dirty:
                        del self._ring[page]
                        return page
                    if dirty:
                        self._used.discard(page)
                self._ring.move_to_end(page)
        return None

    def _is_used(self, page: int, pages: Pages) -> bool:
        if pages.accessed(page):
            self._used.add(page)
        return page in self._used
