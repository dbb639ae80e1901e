"""The file system, in RAM: what the calls that take a path do.

Owns the tree of names. Three layers lie below it, a file each: inodes, directories, paths.
A call that fails changes nothing.

Invariants: every directory but the root is named once, by its parent; ``.`` and ``..`` are its
first entries; ``nlink`` counts the names of a file, and for a directory its one name plus the
``..`` of each subdirectory.

xv6: create(), sys_link(), sys_unlink() and sys_chdir() in kernel/sysfile.c
"""

from collections.abc import Iterable
from typing import Final

from nexemu.abi import T_DEVICE, T_DIR, T_FILE
from nexemu.errors import BadFile
from nexemu.fs import path as paths
from nexemu.fs.content import Content, Data
from nexemu.fs.directory import Entry, dirent, dirlookup, free_slot, is_empty
from nexemu.fs.inode import Inode
from nexemu.fs.inode_table import InodeTable
from nexemu.param import NEXOS_LIMITS

MAX_NLINK: Final = 0x7FFF  # struct stat has a signed 16-bit field for it


class RamFs:
    """``ninode``: inodes in use at once. ``capacity`` and ``file_capacity``: bytes that files may store, in
    all and each, in whole blocks of ``block`` bytes. ``most``: inodes that may exist."""

    __slots__ = ("inodes",)

    def __init__(
        self,
        ninode: int = NEXOS_LIMITS.ninode,
        capacity: int = NEXOS_LIMITS.disk_bytes,
        file_capacity: int = NEXOS_LIMITS.file_bytes,
        most: int = NEXOS_LIMITS.disk_inodes,
        block: int = 1,
    ) -> None:
        self.inodes = InodeTable(ninode, capacity, file_capacity, most, block)
        self._enter(self.root, b".", self.root)
        self._enter(self.root, b"..", self.root)

    @property
    def root(self) -> Inode:
        return self.inodes.root

    @property
    def in_use(self) -> int:
        """How many inodes somebody holds."""
        return self.inodes.in_use

    # ---- inodes -------------------------------------------------------------------------------

    def idup(self, inode: Inode) -> Inode:
        """One more holder of ``inode``. Raises BadFile when too many inodes are in use."""
        return self.inodes.idup(inode)

    def iput(self, inode: Inode) -> None:
        """One holder fewer; an inode without a name goes with the last one."""
        self.inodes.iput(inode)

    def writei(self, inode: Inode, offset: int, data: Data) -> int:
        """Write all of ``data`` at ``offset``. Raises BadFile; then nothing was written."""
        return self.inodes.writei(inode, offset, data)

    def truncate(self, inode: Inode) -> None:
        """Throw the bytes of a file away."""
        self.inodes.truncate(inode)

    def adopt(self, inode: Inode, content: Content) -> None:
        """Let ``content`` be the bytes of a file, in place of what it had."""
        self.inodes.adopt(inode, content)

    def audit(self, holders: Iterable[Inode]) -> None:
        """Panic unless references are what ``holders`` (one entry a reference) accounts for."""
        self.inodes.audit(holders)

    # ---- paths --------------------------------------------------------------------------------

    def namei(self, path: bytes, cwd: Inode) -> Inode:
        """The inode that ``path`` names, not held. Raises BadFile."""
        return paths.namei(self.inodes, path, cwd)

    def nameiparent(self, path: bytes, cwd: Inode) -> tuple[Inode, bytes]:
        """The directory of the last name of ``path``, not held, and that name. Raises BadFile."""
        return paths.nameiparent(self.inodes, path, cwd)

    def chdir(self, path: bytes, cwd: Inode) -> Inode:
        """The directory at ``path``, held in the place of ``cwd``. Raises BadFile; then ``cwd`` stays."""
        inode = self.namei(path, cwd)
        if not inode.is_dir:
            raise BadFile(f"{paths.text(path)}: not a directory")
        self.idup(inode)
        self.iput(cwd)
        return inode

    # ---- names --------------------------------------------------------------------------------

    def create(self, path: bytes, kind: int, cwd: Inode, major: int = 0, minor: int = 0) -> Inode:
        """A new inode of type ``kind`` called ``path``; for T_FILE a file or device of that name serves
        as well. Not held, but one more inode could be. Raises BadFile."""
        parent, name = self.nameiparent(path, cwd)
        entry = dirlookup(parent, name)
        if entry is not None:
            existing = self.inodes.at(entry.inum)
            if kind == T_FILE and not existing.is_dir:
                return existing
            raise BadFile(f"{paths.text(path)}: exists")
        self._check_parent(parent, path)
        if kind == T_DIR and parent.nlink >= MAX_NLINK:
            raise BadFile(f"{paths.text(path)}: its directory has {parent.nlink} names already")
        self.inodes.check_room()
        inode = self.inodes.ialloc(kind, major, minor)
        try:
            if kind == T_DIR:
                self._enter(inode, b".", inode)
                self._enter(inode, b"..", parent)
            self._enter(parent, name, inode)
        except BadFile:
            self.inodes.reap(inode)
            raise
        inode.nlink = 1
        parent.nlink += kind == T_DIR
        return inode

    def mkdir(self, path: bytes, cwd: Inode) -> None:
        """Make an empty directory. Raises BadFile, also when the name exists."""
        self.create(path, T_DIR, cwd)

    def mknod(self, path: bytes, major: int, minor: int, cwd: Inode) -> None:
        """Make a name for a device. Raises BadFile, also when the name exists."""
        self.create(path, T_DEVICE, cwd, major, minor)

    def link(self, old: bytes, new: bytes, cwd: Inode) -> None:
        """Give the file ``old`` a second name. Raises BadFile, also for directories."""
        inode = self.namei(old, cwd)
        if inode.is_dir:
            raise BadFile(f"{paths.text(old)}: a directory has one name only")
        if inode.nlink >= MAX_NLINK:
            raise BadFile(f"{paths.text(old)}: has {inode.nlink} names already")
        parent, name = self.nameiparent(new, cwd)
        if dirlookup(parent, name) is not None:
            raise BadFile(f"{paths.text(new)}: exists")
        self._check_parent(parent, new)
        self._enter(parent, name, inode)
        inode.nlink += 1

    def unlink(self, path: bytes, cwd: Inode) -> None:
        """Take a name away. The file lives on while somebody holds it. Raises BadFile, also for ``.``,
        ``..`` and a directory that is not empty."""
        parent, name = self.nameiparent(path, cwd)
        if name in (b".", b".."):
            raise BadFile(f"{paths.text(path)}: cannot be removed")
        entry = dirlookup(parent, name)
        if entry is None:
            raise BadFile(f"{paths.text(path)}: there is no {paths.text(name)}")
        inode = self.inodes.at(entry.inum)
        if inode.is_dir:
            self._leave_parent(inode, parent, path)
        self._strike(parent, entry)
        inode.nlink -= 1
        self.inodes.reap(inode)

    def _leave_parent(self, inode: Inode, parent: Inode, path: bytes) -> None:
        if not is_empty(inode):
            raise BadFile(f"{paths.text(path)}: the directory is not empty")
        if inode.ref > 0:
            inode.orphan_of = self.idup(parent)
        parent.nlink -= 1

    def _check_parent(self, parent: Inode, path: bytes) -> None:
        if parent.nlink == 0:
            raise BadFile(f"{paths.text(path)}: its directory was removed")

    def _enter(self, directory: Inode, name: bytes, inode: Inode) -> None:
        self.writei(directory, free_slot(directory), dirent(name, inode.inum))

    def _strike(self, directory: Inode, entry: Entry) -> None:
        self.writei(directory, entry.offset, dirent(b"", 0))
