"""Directories: files whose bytes are entries of 16 bytes, an inode number and a name.

What ``read`` shows a program is the directory, not a picture of it. An entry with inode number
0 was deleted and is used again. A name is at most DIRSIZ bytes; longer ones are cut, silently,
wherever they are used, so that ``abcdefghijklmno`` and ``abcdefghijklmn`` are one file.

xv6: dirlookup() and dirlink() in kernel/fs.c, isdirempty() in kernel/sysfile.c
"""

from collections.abc import Iterator
from struct import calcsize, iter_unpack, pack
from typing import NamedTuple

from nexemu.abi import DIRENT
from nexemu.fs.inode import Inode

DIRENT_SIZE = calcsize(DIRENT)


class Entry(NamedTuple):
    """A name in a directory, the inode it means, and where its 16 bytes start."""

    name: bytes
    inum: int
    offset: int


def entries(directory: Inode) -> Iterator[Entry]:
    """The entries in the order of their creation, ``.`` and ``..`` first; deleted ones are left out."""
    slots = iter_unpack(DIRENT, directory.readi(0, directory.size))
    for index, (inum, name) in enumerate(slots):
        if inum:
            yield Entry(name.rstrip(b"\0"), inum, index * DIRENT_SIZE)


def dirlookup(directory: Inode, name: bytes) -> Entry | None:
    """The entry called ``name``, which is at most DIRSIZ bytes long."""
    return next((entry for entry in entries(directory) if entry.name == name), None)


def free_slot(directory: Inode) -> int:
    """Where the next entry goes: the first deleted one, or the end."""
    slots = iter_unpack(DIRENT, directory.readi(0, directory.size))
    deleted = (index * DIRENT_SIZE for index, (inum, _) in enumerate(slots) if not inum)
    return next(deleted, directory.size)


def is_empty(directory: Inode) -> bool:
    """Whether nothing but ``.`` and ``..`` is left."""
    return all(entry.name in (b".", b"..") for entry in entries(directory))


def dirent(name: bytes, inum: int) -> bytes:
    """The 16 bytes of an entry; those of ``(b"", 0)`` delete one."""
    return pack(DIRENT, inum, name)
