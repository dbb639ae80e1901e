"""From paths to inodes.

A path is bytes between slashes; it starts at the root or at a working directory, and repeated
or trailing slashes do not count. The empty path is the working directory itself.

xv6: skipelem(), namex(), namei() and nameiparent() in kernel/fs.c. Nothing is held on the way:
no other process can come in between, because nothing here sleeps.
"""

from nexemu.errors import BadFile
from nexemu.fs.directory import dirlookup
from nexemu.fs.inode import Inode
from nexemu.fs.inode_table import InodeTable
from nexemu.param import DIRSIZ


def components(path: bytes) -> list[bytes]:
    """The names on the way, each cut to DIRSIZ bytes."""
    return [name[:DIRSIZ] for name in path.split(b"/") if name]


def text(path: bytes) -> str:
    """``path`` for a message."""
    return path.decode("utf-8", "backslashreplace") or '""'


def namei(inodes: InodeTable, path: bytes, cwd: Inode) -> Inode:
    """The inode that ``path`` names. Raises BadFile."""
    return _walk(inodes, path, components(path), cwd)


def nameiparent(inodes: InodeTable, path: bytes, cwd: Inode) -> tuple[Inode, bytes]:
    """The directory that holds, or would hold, the last name of ``path``, and that name. Raises
    BadFile, also for a path without a name such as ``/``."""
    names = components(path)
    if not names:
        raise BadFile(f"{text(path)}: there is no name in it")
    parent = _walk(inodes, path, names[:-1], cwd)
    if not parent.is_dir:
        raise BadFile(f"{text(path)}: not a directory on the way")
    return parent, names[-1]


def _walk(inodes: InodeTable, path: bytes, names: list[bytes], cwd: Inode) -> Inode:
    inode = inodes.root if path.startswith(b"/") else cwd
    for name in names:
        if not inode.is_dir:
            raise BadFile(f"{text(path)}: not a directory before {text(name)}")
        entry = dirlookup(inode, name)
        if entry is None:
            raise BadFile(f"{text(path)}: there is no {text(name)}")
        inode = inodes.at(entry.inum)
    return inode
