"""The size of Unicorn's soft TLB, and when to make it grow.

Unicorn inherits QEMU's dynamic TLB: it starts with 256 direct-mapped entries, and a flush
doubles it when more than 70 % of them were in use. A program that streams through more pages
than there are entries misses on every page and never flushes, so it never gets the larger TLB;
flushing once on its behalf, when the misses since the last flush are several times the size,
ends the misses. QEMU halves the TLB again when few entries are used for a while.

QEMU: accel/tcg/cputlb.c, tlb_mmu_resize_locked()
"""

from typing import Final

SMALLEST: Final = 1 << 8
LARGEST: Final = 1 << 17
PATIENCE: Final = 2
"""Misses, in multiples of the size, that prove thrashing: one round only fills the TLB."""


UNLIMITED: Final = 1 << 29
"""In practice; small enough to be counted fast."""


class SoftTlb:
    """``size``: entries that the TLB has by our reckoning. ``granted``: misses after which it deserves to be
    flushed. Only speed depends on either."""

    __slots__ = ("granted", "size")

    def __init__(self) -> None:
        self.size = SMALLEST
        self.granted = PATIENCE * SMALLEST

    def flushed(self, left: int) -> int:
        """The TLB was emptied with ``left`` of the granted misses to go. QEMU resizes it on that occasion by
        how full it was. Returns how many misses are granted from here on."""
        misses = self.granted - left
        if misses > self.size * 7 // 10:
            self.size = min(self.size * 2, LARGEST)
        elif misses < self.size * 3 // 10:
            self.size = max(self.size // 2, SMALLEST)
        self.granted = PATIENCE * self.size if self.size < LARGEST else UNLIMITED
        return self.granted
