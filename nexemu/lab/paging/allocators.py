"""Two ways to give out memory, by the serving engine's own allocators: in one run, or in blocks.

Both are asked in the same words here, so that the same requests can be put to each.
"""

from typing import Protocol

from nexemu.errors import OutOfMemory
from nexemu.kv.contiguous import ContiguousAllocator, Run
from nexemu.kv.pool import BlockPool


class Allocator(Protocol):
    """Gives memory to numbered holders."""

    free: int  # units that nobody holds

    def allocate(self, holder: int, size: int) -> bool:
        """Whether there was room; if not, nothing has changed."""

    def release(self, holder: int) -> None:
        """Take back what ``holder`` has."""


class Contiguous:
    """One run for each holder, of ``reserve`` units where that is given, whatever was asked for."""

    def __init__(self, capacity: int, fit: str, reserve: int | None = None) -> None:
        self.free = capacity
        self._memory = ContiguousAllocator(capacity, fit)
        self._reserve = reserve
        self._held: dict[int, Run] = {}

    def allocate(self, holder: int, size: int) -> bool:
        try:
            self._held[holder] = run = self._memory.allocate(self._reserve or size)
        except OutOfMemory:
            return False
        self.free -= run.length
        return True

    def release(self, holder: int) -> None:
        run = self._held.pop(holder)
        self._memory.free(run)
        self.free += run.length


class Paged:
    """As many pages of ``page`` units as a holder needs."""

    def __init__(self, capacity: int, page: int) -> None:
        self.free = capacity // page * page
        self._page = page
        self._memory = BlockPool(capacity // page)
        self._held: dict[int, list[int]] = {}

    def allocate(self, holder: int, size: int) -> bool:
        pages = -(-size // self._page)
        if pages > self._memory.free_blocks:
            return False
        self._held[holder] = [self._memory.kalloc() for _ in range(pages)]
        self.free -= pages * self._page
        return True

    def release(self, holder: int) -> None:
        pages = self._held.pop(holder)
        for page in pages:
            self._memory.kfree(page)
        self.free += len(pages) * self._page
