"""The swap area: pages that have no frame for now, in a file of the host.

Owns the slots, a page each, and how many refer to each: swapped-out PTEs, and the pager where it
remembers that a frame in memory equals a slot. The file has no name, so nothing is left of it
however the machine ends.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterable

from nexemu.errors import OperatorError, OutOfMemory, panic
from nexemu.riscv import PGSIZE


class SwapArea:
    """``size`` bytes, a whole number of pages. Raises OperatorError when the host has no room for a file."""

    __slots__ = ("refs", "_file", "_free")

    def __init__(self, size: int) -> None:
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as the machine
        except OSError as error:
            where = tempfile.gettempdir()
            raise OperatorError(f"no room for a swap file in {where}: {error.strerror}") from error
        self.refs = [0] * (size // PGSIZE)
        self._free = list(reversed(range(len(self.refs))))

    def audit(self, holders: Iterable[int]) -> None:
        """Panic unless each slot is referred to as often as it occurs in ``holders``."""
        held = Counter(holders)
        for slot, count in enumerate(self.refs):
            if count != held[slot]:
                panic(f"audit: swap slot {slot} has count {count}, {held[slot]} refer to it")

    @property
    def used(self) -> int:
        """Slots that something refers to."""
        return len(self.refs) - len(self._free)

    def allocate(self) -> int:
        """A free slot, referred to once. Raises OutOfMemory."""
        if not self._free:
            raise OutOfMemory("the swap area is full")
        slot = self._free.pop()
        self.refs[slot] = 1
        return slot

    def hold(self, slot: int) -> None:
        """One more refers to ``slot``."""
        if self.refs[slot] < 1:
            panic(f"swap: slot {slot} is free")
        self.refs[slot] += 1

    def drop(self, slot: int) -> None:
        """One fewer refers to ``slot``; the last one frees it."""
        self.refs[slot] -= 1
        if self.refs[slot] < 0:
            panic(f"swap: slot {slot} is free")
        if self.refs[slot] == 0:
            self._free.append(slot)

    def write(self, slot: int, page: bytes | memoryview) -> None:
        """Store a page."""
        os.pwrite(self._file.fileno(), page, slot * PGSIZE)

    def read(self, slot: int) -> bytes:
        """The page that was stored last."""
        return os.pread(self._file.fileno(), PGSIZE, slot * PGSIZE)
