"""A pipe: 512 bytes between those who write and those who read.

Neither end waits here. Where xv6 would sleep, the call says that it cannot go on; whoever
called sleeps on the pipe and tries again.

xv6: kernel/pipe.c
"""

from collections.abc import Callable

from nexemu.errors import BadFile, panic
from nexemu.fs.content import Data
from nexemu.param import PIPESIZE


class Pipe:
    """``release`` is called once, when both ends are closed: whoever pays for the pipe gets it back."""

    __slots__ = ("read_open", "write_open", "_data", "_release")

    def __init__(self, release: Callable[[], None] | None = None) -> None:
        self.read_open = True
        self.write_open = True
        self._data = bytearray()
        self._release = release

    @property
    def pending(self) -> int:
        """Bytes that were written and not read yet."""
        return len(self._data)

    def read(self, count: int) -> bytes | None:
        """What is there, at most ``count`` bytes. Empty at the end, when nobody can write any more; None
        when there is nothing yet."""
        if not self._data and self.write_open:
            return None
        taken = bytes(self._data[:count])
        del self._data[:count]
        return taken

    def unread(self, data: bytes) -> None:
        """Take the end of what was read last back: nobody has received it."""
        self._data[:0] = data

    def write(self, data: Data) -> int:
        """Take as much of ``data`` as there is room for; returns how many bytes, 0 when the pipe is full.
        Raises BadFile when there is something to write and nobody can read any more."""
        if data and not self.read_open:
            raise BadFile("nobody reads from this pipe any more")
        taken = data[: PIPESIZE - len(self._data)]
        self._data += taken
        return len(taken)

    def close(self, writable: bool) -> None:
        """Close the write end, or else the read end."""
        if not (self.write_open if writable else self.read_open):
            panic("pipeclose: this end is closed")
        if writable:
            self.write_open = False
        else:
            self.read_open = False
        if not self.read_open and not self.write_open and self._release is not None:
            self._release()
