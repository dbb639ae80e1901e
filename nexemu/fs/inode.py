"""An inode: a file as the file system knows it, without a name.

Names are entries in directories and refer to an inode by its number; open files and working
directories hold the inode itself. It lives as long as either kind of reference is left.

xv6: struct inode in kernel/file.h, readi() and stati() in kernel/fs.c
"""

from struct import pack

from nexemu.abi import STAT, T_DIR
from nexemu.fs.content import Content


class Inode:
    """``nlink`` counts names, ``ref`` counts holders: open files, working directories, mappings.

    ``type`` is T_DIR, T_FILE or T_DEVICE; a device has a ``major`` and a ``minor`` number and no
    bytes. ``orphan_of``: for a directory that was removed while somebody still worked in it, the
    directory that its ``..`` leads to; it holds that one, so that ``..`` cannot dangle.
    """

    __slots__ = ("content", "inum", "major", "minor", "nlink", "orphan_of", "ref", "type")

    def __init__(self, inum: int, kind: int, major: int = 0, minor: int = 0) -> None:
        self.inum = inum
        self.type = kind
        self.major = major
        self.minor = minor
        self.nlink = 0
        self.ref = 0
        self.content = Content()
        self.orphan_of: Inode | None = None

    @property
    def size(self) -> int:
        return self.content.size

    @property
    def is_dir(self) -> bool:
        return self.type == T_DIR

    def readi(self, offset: int, count: int) -> memoryview:
        """Up to ``count`` bytes from ``offset``; see :meth:`Content.read`."""
        return self.content.read(offset, count)

    def stat(self) -> bytes:
        """``struct stat`` as the guest lays it out; everything lives on device 0."""
        return pack(STAT, 0, self.inum, self.type, self.nlink, self.size)
