"""All open files, and how a path becomes one.

Owns the files and their counts. Invariant: a file is in the table exactly while its count is
above zero, and its count is the number of descriptors and mappings that share it.

xv6: filealloc(), filedup() and fileclose() in kernel/file.c, sys_open() in kernel/sysfile.c
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from nexemu.abi import O_CREATE, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY, T_DEVICE, T_FILE
from nexemu.errors import BadFile, panic
from nexemu.fs.console import CONSOLE
from nexemu.fs.file import Device, DeviceFile, File, InodeFile, PipeEnd
from nexemu.fs.inode import Inode
from nexemu.fs.path import text
from nexemu.fs.pipe import Pipe
from nexemu.fs.ramfs import RamFs
from nexemu.param import NEXOS_LIMITS


class FileTable:
    """At most ``nfile`` open files over ``fs``; ``devices`` by major number, the console among them.
    ``named_console``: the path ``console`` means the console, whatever the tree holds."""

    __slots__ = ("devices", "fs", "named_console", "nfile", "_files")

    def __init__(
        self,
        fs: RamFs,
        devices: Mapping[int, Device],
        nfile: int = NEXOS_LIMITS.nfile,
        named_console: bool = True,
    ) -> None:
        self.fs = fs
        self.devices = devices
        self.nfile = nfile
        self.named_console = named_console
        self._files: list[File] = []

    @property
    def in_use(self) -> int:
        """How many files are open."""
        return len(self._files)

    # ---- opening ------------------------------------------------------------------------------

    def open(self, path: bytes, mode: int, cwd: Inode) -> File:
        """Open ``path`` as the O_* bits of ``mode`` say. Raises BadFile; then nothing was created or
        truncated."""
        self._check_room(1)
        readable = not mode & O_WRONLY
        writable = bool(mode & (O_WRONLY | O_RDWR))
        if self.named_console and path == b"console":
            return self._add(DeviceFile(self._device(CONSOLE), readable, writable))
        inode = self._inode(path, mode, cwd)
        file: File
        if inode.type == T_DEVICE:
            file = DeviceFile(self._device(inode.major), readable, writable, inode)
        else:
            file = InodeFile(self.fs, inode, readable, writable)
        self.fs.idup(inode)
        if mode & O_TRUNC and inode.type == T_FILE:
            self.fs.truncate(inode)
        return self._add(file)

    def console(self) -> File:
        """The console, open for reading and writing, without a name. Raises BadFile."""
        self._check_room(1)
        return self._add(DeviceFile(self._device(CONSOLE), readable=True, writable=True))

    def pipe(self, release: Callable[[], None] | None = None) -> tuple[File, File]:
        """A new pipe's read end and write end. ``release`` is called exactly once: when both ends are
        closed, or at once when there is no room. Raises BadFile."""
        try:
            self._check_room(2)
        except BadFile:
            if release is not None:
                release()
            raise
        pipe = Pipe(release)
        return self._add(PipeEnd(pipe, writable=False)), self._add(PipeEnd(pipe, writable=True))

    def _inode(self, path: bytes, mode: int, cwd: Inode) -> Inode:
        if mode & O_CREATE:
            return self.fs.create(path, T_FILE, cwd)
        inode = self.fs.namei(path, cwd)
        if inode.is_dir and mode != O_RDONLY:
            raise BadFile(f"{text(path)}: a directory can only be read")
        return inode

    def _device(self, major: int) -> Device:
        if major not in self.devices:
            raise BadFile(f"there is no device {major}")
        return self.devices[major]

    def _check_room(self, count: int) -> None:
        if len(self._files) + count > self.nfile:
            raise BadFile(f"no more than {self.nfile} files can be open at once")

    def _add(self, file: File) -> File:
        self._files.append(file)
        return file

    # ---- sharing and closing ------------------------------------------------------------------

    def dup(self, file: File) -> File:
        """One more descriptor or mapping shares ``file``."""
        if file.ref < 1:
            panic("filedup: the file is closed")
        file.ref += 1
        return file

    def close(self, file: File) -> None:
        """One fewer shares ``file``; the last one closes it."""
        if file.ref < 1:
            panic("fileclose: the file is closed")
        file.ref -= 1
        if file.ref > 0:
            return
        self._files.remove(file)
        if isinstance(file, PipeEnd):
            file.pipe.close(file.writable)
        if file.inode is not None:
            self.fs.iput(file.inode)

    def inodes(self) -> list[Inode]:
        """The inodes that open files hold, one entry a file: for the audit of the file system."""
        return [file.inode for file in self._files if file.inode is not None]

    def audit(self, holders: Iterable[File]) -> None:
        """Panic unless each count is the number of times its file occurs in ``holders``, which has one
        entry a descriptor and a mapping."""
        held = Counter(holders)
        for file in self._files:
            if file.ref != held[file]:
                panic(f"audit: an open file has count {file.ref}, {held[file]} hold it")
        if held.keys() - set(self._files):
            panic("audit: a descriptor holds a file that is closed")
