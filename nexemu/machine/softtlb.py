"""The size of Unicorn's soft TLB, and when to make it grow.

Unicorn inherits QEMU's dynamic TLB: direct-mapped, and resized when it is flushed. A flush doubles
it when more than 70 % of its entries were in use, and shrinks it, perhaps by a lot, when few were
for a while of the host's time. So nobody can tell its size. But a page that misses a second time,
with no flush in between, was evicted: the program uses more pages than there are entries, and each
round through them will miss on every one. Then a few flushes in a row, each as soon as the TLB
could be full, make it as large as the program needs.

QEMU: accel/tcg/cputlb.c, tlb_mmu_resize_locked()
"""

from typing import Final

from nexemu.riscv import VA

SMALLEST: Final = 1 << 8
NO_PAGE: Final = -1


class SoftTlb:
    """The hart takes one of ``granted`` at each miss. When none is left, or when the page is ``watched``, it
    calls :meth:`look`. Only speed depends on either."""

    __slots__ = ("granted", "watched", "_goal", "_grant", "_misses", "_since", "_size")

    def __init__(self) -> None:
        self.flushed()

    def flushed(self) -> None:
        """The TLB is empty, for a reason of somebody else's."""
        self._goal = self._misses = self._since = 0
        self._size = self._grant = self.granted = SMALLEST
        self.watched = NO_PAGE

    def look(self, page: VA) -> bool:
        """``page`` misses. Returns whether to flush the TLB, so that it grows."""
        self._misses += self._grant - self.granted
        if self._goal:
            return self._grow()
        if page == self.watched and self._misses - self._since >= SMALLEST:
            self._goal = self._misses
            return self._grow()
        self.watched, self._since = page, self._misses
        self._grant = self.granted = 3 * self._misses  # catches rounds of up to so many pages
        return False

    def _grow(self) -> bool:
        """Go on until there is room for as many pages as have missed."""
        if self._size > self._goal:
            self.flushed()
            return True
        self._grant = self.granted = 3 * self._size // 2
        self._size *= 2
        self._misses = self._since = 0
        self.watched = NO_PAGE
        return True
