"""The swap area: pages that have no frame for now, in a file of the host.

Owns the slots, a page each, and how many refer to each: swapped-out PTEs, and the pager where it
remembers that a frame in memory equals a slot. The file has no name, so nothing is left of it
however the machine ends.
"""

import os
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable

from nexemu.errors import OperatorError, OutOfMemory, panic
from nexemu.riscv import PGSIZE


class SwapArea:
    """``size`` bytes, a whole number of pages. Raises OperatorError when the host has no room for a file."""

    __slots__ = ("refs", "_file", "_free", "__weakref__")

    def __init__(self, size: int) -> None:
        try:
            with tempfile.TemporaryFile(buffering=0) as file:
                self._file = os.dup(file.fileno())
        except OSError as error:
            where = tempfile.gettempdir()
            raise OperatorError(f"no room for a swap file in {where}: {error.strerror}") from error
        weakref.finalize(self, os.close, self._file)
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

    @property
    def full(self) -> bool:
        """Whether every slot is referred to."""
        return not self._free

    def store(self, page: bytes) -> int:
        """Write ``page`` to a free slot, which is then referred to once. Raises OutOfMemory when there is
        none, or when the host's disk is full."""
        if not self._free:
            raise OutOfMemory("the swap area is full")
        slot = self._free[-1]
        try:
            written = os.pwrite(self._file, page, slot * PGSIZE)
        except OSError as error:
            raise OutOfMemory(f"the swap file cannot grow: {error.strerror}") from error
        if written < PGSIZE:
            raise OutOfMemory("the swap file cannot grow: the disk is full")
        self._free.pop()
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

    def read(self, slot: int) -> bytes:
        """The page that was stored there."""
        return os.pread(self._file, PGSIZE, slot * PGSIZE)
