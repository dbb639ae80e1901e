"""The bytes of one file.

A file that comes from the host starts as the host's own bytes, read-only and possibly mapped
rather than read; the first write makes a private copy. Copy on write once more, for files.

Invariant: the first ``size`` bytes of the buffer are the file; the rest is room to grow. A
buffer that may be written is a bytearray, and no other is.
"""

from mmap import mmap
from typing import TypeAlias

Data: TypeAlias = bytes | memoryview
"""Bytes on their way between a file and whoever asked; a view where a copy would be a waste."""


class Content:
    """``host``: the bytes to start with, which are never written to."""

    __slots__ = ("size", "_buffer")

    def __init__(self, host: bytes | mmap = b"") -> None:
        self.size = len(host)
        self._buffer: bytes | mmap | bytearray = host

    @property
    def private_size(self) -> int:
        """Bytes of the file that this machine stores itself; 0 while the host's bytes serve."""
        return self.size if isinstance(self._buffer, bytearray) else 0

    def read(self, offset: int, count: int) -> memoryview:
        """Up to ``count`` bytes from ``offset``, fewer at the end of the file, none beyond it. Not a
        copy: a view that is valid until the next write."""
        end = min(offset + count, self.size)
        return memoryview(self._buffer)[offset:end].toreadonly()

    def write(self, offset: int, data: Data) -> None:
        """Put ``data`` at ``offset``, which is at most ``size``, and grow where it reaches further."""
        end = offset + len(data)
        self._writable(end)[offset:end] = data
        self.size = max(self.size, end)

    def _writable(self, end: int) -> bytearray:
        """A private buffer of at least ``end`` bytes. Growing takes a new one, twice as long: a view
        of the old one may still be about, and a bytearray with views cannot be resized."""
        buffer = self._buffer
        if isinstance(buffer, bytearray):
            if end <= len(buffer):
                return buffer
            grown = bytearray(max(end, 2 * len(buffer)))
        else:
            grown = bytearray(max(end, self.size))
        grown[: self.size] = memoryview(buffer)[: self.size]
        self._buffer = grown
        return grown

    def clear(self) -> None:
        """Make the file empty."""
        self._buffer = b""
        self.size = 0
