"""One mmap area of an address space: a promise of pages, kept when they are touched.

ABI.md section 6
"""

from dataclasses import dataclass
from typing import Protocol

from nexemu.abi import PROT_READ, PROT_WRITE
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_W, VA, Access, pgroundup


class Backing(Protocol):
    """The file behind an area, as memory needs to see it."""

    def read_at(self, offset: int, count: int) -> bytes | memoryview:
        """Up to ``count`` bytes of the file from ``offset``; fewer at its end."""

    def hold(self) -> None:
        """One more area refers to the file."""

    def drop(self) -> None:
        """One area fewer refers to the file."""


@dataclass(slots=True)
class Area:
    """``length`` bytes from the page-aligned ``start``. ``backing`` is None for anonymous memory;
    otherwise the area shows the file from ``offset``."""

    start: VA
    length: int
    prot: int
    backing: Backing | None = None
    offset: int = 0

    @property
    def end(self) -> VA:
        """One beyond the last page."""
        return self.start + pgroundup(self.length)

    @property
    def flags(self) -> int:
        """The PTE flags of its pages; a writable page is readable too."""
        return PTE_U | PTE_R | (PTE_W if self.prot & PROT_WRITE else 0)

    def allows(self, access: Access) -> bool:
        """Whether a store or a load may touch it; nothing is ever fetched from it."""
        if access is Access.WRITE:
            return bool(self.prot & PROT_WRITE)
        return access is Access.READ and bool(self.prot & (PROT_READ | PROT_WRITE))

    def content(self, page: VA) -> bytes | memoryview:
        """The file's bytes for the page at ``page``, none beyond ``length``; the rest reads zero."""
        if self.backing is None:
            return b""
        skip = page - self.start
        return self.backing.read_at(self.offset + skip, min(PGSIZE, self.length - skip))

    def cut(self, start: VA, end: VA) -> bool:
        """Take the pages from ``start`` to ``end`` off the front or the back. Returns False when the
        range would leave a hole in the middle; then nothing changes."""
        if start == self.start:
            removed = end - start
            self.start = end
            self.offset += removed
            self.length = max(0, self.length - removed)
            return True
        if end == self.end:
            self.length = start - self.start
            return True
        return False


def highest_gap(areas: list[Area], size: int, floor: VA, ceiling: VA) -> VA | None:
    """The start of the highest gap between ``floor`` and ``ceiling`` that holds ``size`` bytes and
    overlaps none of ``areas``, or None. ``areas`` are ordered from the highest down."""
    top = ceiling
    for area in areas:
        if top - area.end >= size:
            break
        top = area.start
    return top - size if top - size >= floor else None
