"""An open file: what a file descriptor stands for.

Three kinds: an inode with an offset of its own, an end of a pipe, a device. ``dup`` and
``fork`` share the object, and with it the offset. Reading and writing never wait: where there
is nothing yet, or no room, the answer says so, and ``channel`` is what to sleep on.

xv6: struct file in kernel/file.h, fileread(), filewrite() and filestat() in kernel/file.c
"""

from abc import ABC, abstractmethod
from typing import Protocol

from nexemu.errors import BadFile
from nexemu.fs.content import Data
from nexemu.fs.inode import Inode
from nexemu.fs.pipe import Pipe
from nexemu.fs.ramfs import RamFs


class Device(Protocol):
    """What the table of devices holds, by major number."""

    def read(self, count: int) -> bytes | None:
        """As :meth:`File.read`."""

    def write(self, data: Data) -> int:
        """As :meth:`File.write`."""


class File(ABC):
    """``ref`` counts the descriptors and mappings that share it, and is the table's to change.
    ``inode``: the one that it holds, if any."""

    __slots__ = ("inode", "readable", "ref", "writable")

    def __init__(self, readable: bool, writable: bool, inode: Inode | None = None) -> None:
        self.readable = readable
        self.writable = writable
        self.inode = inode
        self.ref = 1

    @property
    def channel(self) -> object | None:
        """What a process sleeps on that cannot go on, and what to wake up after a call that moved
        something; None where nobody ever waits."""
        return None

    def read(self, count: int) -> Data | None:
        """Up to ``count`` bytes. Empty at the end of the file; None when there is nothing yet. Raises
        BadFile."""
        if not self.readable:
            raise BadFile("not open for reading")
        if count < 0:
            raise BadFile(f"cannot read {count} bytes")
        return self._read(count)

    def write(self, data: Data) -> int:
        """Write ``data``, or as much of it as goes now; returns how many bytes, 0 when there is no room
        yet. Raises BadFile."""
        if not self.writable:
            raise BadFile("not open for writing")
        return self._write(data)

    def unread(self, data: Data) -> None:
        """Take the end of what was read last back, where the next reader could still want it."""
        return

    def stat(self) -> bytes:
        """``struct stat``. Raises BadFile where there is no inode."""
        if self.inode is None:
            raise BadFile("only what has a name in the file system has a struct stat")
        return self.inode.stat()

    @abstractmethod
    def _read(self, count: int) -> Data | None: ...

    @abstractmethod
    def _write(self, data: Data) -> int: ...


class InodeFile(File):
    """A file or a directory."""

    __slots__ = ("fs", "offset")
    inode: Inode

    def __init__(self, fs: RamFs, inode: Inode, readable: bool, writable: bool) -> None:
        super().__init__(readable, writable, inode)
        self.fs = fs
        self.offset = 0

    def _read(self, count: int) -> Data:
        data = self.inode.readi(self.offset, count)
        self.offset += len(data)
        return data

    def _write(self, data: Data) -> int:
        written = self.fs.writei(self.inode, self.offset, data)
        self.offset += written
        return written


class PipeEnd(File):
    """One end of a pipe: it reads or it writes, never both."""

    __slots__ = ("pipe",)

    def __init__(self, pipe: Pipe, writable: bool) -> None:
        super().__init__(not writable, writable)
        self.pipe = pipe

    @property
    def channel(self) -> Pipe:
        return self.pipe

    def _read(self, count: int) -> bytes | None:
        return self.pipe.read(count)

    def _write(self, data: Data) -> int:
        return self.pipe.write(data)

    def unread(self, data: Data) -> None:
        self.pipe.unread(bytes(data))


class DeviceFile(File):
    """A device, opened by its own name or through an inode that stands for it."""

    __slots__ = ("device",)

    def __init__(self, device: Device, readable: bool, writable: bool, inode: Inode | None = None) -> None:
        super().__init__(readable, writable, inode)
        self.device = device

    @property
    def channel(self) -> Device:
        return self.device

    def _read(self, count: int) -> bytes | None:
        return self.device.read(count)

    def _write(self, data: Data) -> int:
        return self.device.write(data)
