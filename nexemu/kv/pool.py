"""Blocks of KV memory: who has one, and how many share it.

The allocator of frames again, verb for verb, over numbers in place of addresses: the keys and values
that a block holds lie on a device that this code never touches. Owns the free queue and one
reference count a block; a block is free exactly while its count is zero.

The block that was freed first is handed out first. What a freed block holds stays as it was until
then, so whoever still knows it may :meth:`~BlockPool.revive` it.

xv6: kernel/kalloc.c, with the reference counts of the COW lab
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable

from nexemu.errors import OutOfMemory, panic


class BlockPool:
    """Blocks 0 to ``total`` - 1, all free at first and handed out in that order."""

    __slots__ = ("refs", "total", "_free")

    def __init__(self, total: int) -> None:
        self.total = total
        self.refs = [0] * total
        self._free = OrderedDict.fromkeys(range(total))

    @property
    def free_blocks(self) -> int:
        """How many blocks nobody holds."""
        return len(self._free)

    @property
    def used_blocks(self) -> int:
        """How many blocks somebody holds."""
        return self.total - len(self._free)

    def kalloc(self) -> int:
        """The block that has been free for longest, held once. Raises OutOfMemory."""
        if not self._free:
            raise OutOfMemory("kalloc: no block left")
        block, _ = self._free.popitem(last=False)
        self.refs[block] = 1
        return block

    def revive(self, block: int) -> None:
        """Hold ``block``, which must be free, for what it still holds."""
        if not 0 <= block < self.total or self.refs[block] != 0:
            panic(f"revive: block {block} is not free")
        del self._free[block]
        self.refs[block] = 1

    def hold(self, block: int) -> int:
        """One more holder of ``block``, whether it is held or free; the block itself."""
        if self.refcount(block):
            self.incref(block)
        else:
            self.revive(block)
        return block

    def incref(self, block: int) -> None:
        """One more holder of ``block``, which must be held already."""
        if not 0 <= block < self.total or self.refs[block] < 1:
            panic(f"incref: nobody holds block {block}")
        self.refs[block] += 1

    def kfree(self, block: int) -> None:
        """One holder fewer; the last one gives the block back."""
        refs = self.refs
        if not 0 <= block < self.total or refs[block] < 1:
            panic(f"kfree: nobody holds block {block}")
        refs[block] -= 1
        if refs[block] == 0:
            self._free[block] = None

    def unshare(self, block: int) -> int:
        """A block that the caller alone holds, in exchange for its hold on ``block``: ``block`` itself
        where nobody else holds it, else a fresh one to copy into. Raises OutOfMemory."""
        if self.refcount(block) == 1:
            return block
        copy = self.kalloc()
        self.kfree(block)
        return copy

    def refcount(self, block: int) -> int:
        """How many hold ``block``; 0 means free."""
        return self.refs[block]

    def audit(self, holders: Iterable[int]) -> None:
        """Panic unless every count equals the times its block occurs in ``holders``, and every block is
        either counted or in the free queue, never both."""
        held = Counter(holders)
        for block, count in enumerate(self.refs):
            if count != held[block]:
                panic(f"audit: block {block} has count {count}, {held[block]} hold it")
            if (count == 0) != (block in self._free):
                panic(f"audit: block {block} has count {count}, in the free queue: {block in self._free}")
        strangers = sorted(block for block in [*self._free, *held] if not 0 <= block < self.total)
        if strangers:
            panic(f"audit: there is no block {strangers[0]}, and it is held or in the free queue")
