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
PATIENCE: Final = 3
"""Misses, in multiples of the size, that prove thrashing: one round only fills the TLB."""


class SoftTlb:
    """Counts misses. ``size`` is what the TLB has by our reckoning; only speed depends on it."""

    __slots__ = ("misses", "size", "thrashing_at")

    def __init__(self) -> None:
        self.size = SMALLEST
        self.misses = 0
        self.thrashing_at = PATIENCE * SMALLEST

    def flushed(self) -> None:
        """The TLB was emptied; QEMU resizes it on that occasion by how full it was."""
        if self.misses > self.size * 7 // 10:
            self.size = min(self.size * 2, LARGEST)
        elif self.misses < self.size * 3 // 10:
            self.size = max(self.size // 2, SMALLEST)
        self.misses = 0
        self.thrashing_at = PATIENCE * self.size if self.size < LARGEST else 1 << 62
