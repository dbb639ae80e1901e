"""All inodes of the file system: which exist, which are in use, and how much they store.

Owns inode numbers, reference counts and the space that files take. An inode exists exactly
while it has a name or a holder; at most ``ninode`` have holders at the same time, as the
kernel's table of inodes in memory would have it.

xv6: ialloc(), idup(), iput(), itrunc() and writei() in kernel/fs.c. xv6 panics when its table
is full; here the call that needed one more inode fails.
"""

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush

from nexemu.abi import T_DIR
from nexemu.errors import BadFile, panic
from nexemu.fs.content import Content, Data
from nexemu.fs.inode import Inode

ROOTINO = 1
MAX_INUM = 0xFFFF  # a directory entry has 16 bits for it
UNBOUNDED = 1 << 63


class InodeTable:
    """``ninode``: inodes that may be held at once. ``capacity``: bytes that files may store in all, where
    bytes that are still the host's own do not count, and each file takes whole blocks of ``block``
    bytes; ``file_capacity``: bytes that one file may hold. ``most``: inodes that may exist."""

    __slots__ = (
        "block",
        "capacity",
        "file_capacity",
        "in_use",
        "most",
        "ninode",
        "stored",
        "_free_inums",
        "_inodes",
        "_next_inum",
    )

    def __init__(
        self,
        ninode: int,
        capacity: int,
        file_capacity: int = UNBOUNDED,
        most: int = MAX_INUM,
        block: int = 1,
    ) -> None:
        self.ninode = ninode
        self.capacity = capacity
        self.file_capacity = file_capacity
        self.most = min(most, MAX_INUM)
        self.block = block
        self.in_use = 0
        self.stored = 0
        self._inodes: dict[int, Inode] = {}
        self._free_inums: list[int] = []  # a heap of numbers that were used before
        self._next_inum = ROOTINO
        self.ialloc(T_DIR).nlink = 1

    @property
    def root(self) -> Inode:
        return self._inodes[ROOTINO]

    def at(self, inum: int) -> Inode:
        """The inode that a directory entry names."""
        if inum not in self._inodes:
            panic(f"inode: a directory names {inum}, which does not exist")
        return self._inodes[inum]

    def ialloc(self, kind: int, major: int = 0, minor: int = 0) -> Inode:
        """A new inode of type ``kind`` and the lowest free number, without a name: the caller gives it
        one. Raises BadFile when all numbers are taken."""
        if self._free_inums:
            inum = heappop(self._free_inums)
        elif self._next_inum <= self.most:
            inum = self._next_inum
            self._next_inum += 1
        else:
            raise BadFile(f"all {self.most} inode numbers are taken")
        inode = self._inodes[inum] = Inode(inum, kind, major, minor)
        return inode

    def check_room(self) -> None:
        """Raise BadFile unless one more inode could be held."""
        if self.in_use >= self.ninode:
            raise BadFile(f"no more than {self.ninode} inodes can be in use at once")

    def idup(self, inode: Inode) -> Inode:
        """One more holder of ``inode``. Raises BadFile when no more inodes may be in use."""
        if inode.ref == 0:
            self.check_room()
            self.in_use += 1
        inode.ref += 1
        return inode

    def iput(self, inode: Inode) -> None:
        """One holder fewer; the last one takes a nameless inode with it."""
        if inode.ref < 1:
            panic(f"iput: inode {inode.inum} has no holder")
        inode.ref -= 1
        if inode.ref == 0:
            self.in_use -= 1
            self.reap(inode)

    def reap(self, inode: Inode) -> None:
        """Free ``inode`` if nothing refers to it any more."""
        if inode.ref > 0 or inode.nlink > 0:
            return
        self.truncate(inode)
        del self._inodes[inode.inum]
        heappush(self._free_inums, inode.inum)
        if inode.orphan_of is not None:
            self.iput(inode.orphan_of)

    def writei(self, inode: Inode, offset: int, data: Data) -> int:
        """Write all of ``data`` at ``offset`` (bytes, at most the size) and return its length. Raises
        BadFile, with nothing written, past the end of the file or when there is no space. Writing nothing
        takes no space: the host's bytes go on serving."""
        content = inode.content
        if offset > content.size:
            raise BadFile(f"a write at {offset} would leave a hole after the file's {content.size} bytes")
        if not data:
            return 0
        if offset + len(data) > max(self.file_capacity, content.size):
            raise BadFile(f"a file holds {self.file_capacity} bytes at the most")
        size = max(offset + len(data), content.size)
        added = self._taken(size) - self._taken(content.private_size)
        if self.stored + added > self.capacity:
            raise BadFile(f"no space: files may store {self.capacity} bytes in all")
        content.write(offset, data)
        self.stored += added
        return len(data)

    def truncate(self, inode: Inode) -> None:
        """Throw the inode's bytes away."""
        self.stored -= self._taken(inode.content.private_size)
        inode.content.clear()

    def adopt(self, inode: Inode, content: Content) -> None:
        """Let ``content`` be the inode's bytes, in place of what it had."""
        self.truncate(inode)
        inode.content = content
        self.stored += self._taken(content.private_size)

    def _taken(self, size: int) -> int:
        return -(-size // self.block) * self.block

    def audit(self, holders: Iterable[Inode]) -> None:
        """Panic unless every count is what it counts: ``ref`` the times an inode occurs in ``holders``,
        plus the removed directories whose parent it is."""
        held = Counter(inode.inum for inode in holders)
        held.update(inode.orphan_of.inum for inode in self._inodes.values() if inode.orphan_of)
        for inum, inode in self._inodes.items():
            if inode.ref != held[inum]:
                panic(f"audit: inode {inum} has {inode.ref} references, {held[inum]} hold it")
            if inode.ref == 0 and inode.nlink == 0:
                panic(f"audit: nothing refers to inode {inum}")
        if held.keys() - self._inodes.keys():
            panic(f"audit: {sorted(held.keys() - self._inodes.keys())} are held and do not exist")
        if self.in_use != sum(inode.ref > 0 for inode in self._inodes.values()):
            panic(f"audit: {self.in_use} inodes are said to be in use")
        if self.stored != sum(self._taken(inode.content.private_size) for inode in self._inodes.values()):
            panic(f"audit: {self.stored} bytes are said to be stored")
