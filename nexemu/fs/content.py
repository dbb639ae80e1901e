"""The bytes of one file.

A file that comes from the host starts as the host's own bytes, read-only and possibly mapped
rather than read; the first write makes a private copy. Copy on write once more, for files.

Invariant: the buffer is the file, to the byte. A buffer that may be written is a bytearray, and
no other is.
"""

from mmap import mmap
from typing import TypeAlias

Data: TypeAlias = bytes | memoryview
"""Bytes on their way between a file and whoever asked; a view where a copy would be a waste."""


class Content:
    """``host``: the bytes to start with, which are never written to."""

    __slots__ = ("_buffer",)

    def __init__(self, host: bytes | mmap = b"") -> None:
        self._buffer: bytes | mmap | bytearray = host

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return len(self._buffer)

    @property
    def private_size(self) -> int:
        """Bytes of the file that this machine stores itself; 0 while the host's bytes serve."""
        return self.size if isinstance(self._buffer, bytearray) else 0

    def read(self, offset: int, count: int) -> memoryview:
        """Up to ``count`` bytes from ``offset``, fewer at the end of the file, none beyond it. Not a
        copy: a view that is valid until the next write."""
        return memoryview(self._buffer)[offset : offset + count].toreadonly()

    def write(self, offset: int, data: Data) -> None:
        """Put ``data`` at ``offset``, which is at most ``size``, and grow where it reaches further."""
        if not isinstance(self._buffer, bytearray):
            self._buffer = bytearray(self._buffer)
        place = slice(offset, offset + len(data))
        try:
            self._buffer[place] = data
        except BufferError:  # it would have to grow, and a view of it is still about
            self._buffer = bytearray(self._buffer)
            self._buffer[place] = data

    def clear(self) -> None:
        """Make the file empty."""
        self._buffer = b""
