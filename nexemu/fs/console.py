"""The console: typed bytes become lines, written bytes go out unchanged.

Owns the line being edited and the lines that wait for a reader. A line is handed over at a
newline, at ^D, or when it is 128 bytes long; before that it can be edited. Keys that are for
the kernel rather than for a program are reported upward.

Unlike xv6's, which drops what is typed when 128 bytes wait, finished lines wait without limit:
input that comes from a file must not lose bytes. A ^D after some bytes is taken with them, where
xv6 keeps it for the next read.

xv6: kernel/console.c; ABI.md section 3
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from nexemu.fs.content import Data
from nexemu.param import INPUT_BUF_SIZE

CONSOLE: Final = 1  # its major device number

END_OF_FILE: Final = 0x04  # ^D
BACKSPACE: Final = 0x08
KILL_LINE: Final = 0x15  # ^U
DELETE: Final = 0x7F
CARRIAGE_RETURN: Final = 0x0D
NEWLINE: Final = 0x0A
RUBOUT: Final = b"\b \b"  # how an erased character leaves the screen


class Key(IntEnum):
    """A key that the kernel acts upon."""

    INTERRUPT = 0x03  # ^C: end the foreground program
    LIST = 0x10  # ^P: list the processes


class Console:
    """``output`` receives what goes to the screen; ``on_key`` the kernel's keys. Without ``echo``
    typed bytes do not appear on the screen: for input that nobody types. ``ended``: no more will come."""

    __slots__ = ("ended", "_echo", "_lines", "_on_key", "_output", "_typed")

    def __init__(
        self, output: Callable[[bytes], None], on_key: Callable[[Key], None], echo: bool = True
    ) -> None:
        self._output = output
        self._on_key = on_key
        self._echo = echo
        self._typed = bytearray()  # the line being edited
        self._lines = bytearray()  # finished, in the order of typing, ^D included
        self.ended = False

    @property
    def pending(self) -> int:
        """Bytes of finished lines that nobody has read yet."""
        return len(self._lines)

    # ---- the keyboard's side ------------------------------------------------------------------

    def interrupt(self, byte: int) -> bool:
        """A byte was typed. Returns True when a line is finished: readers can go on."""
        if byte in (Key.INTERRUPT, Key.LIST):
            if byte == Key.INTERRUPT:
                self._typed.clear()
                self._show(b"^C\n")
            self._on_key(Key(byte))
        elif byte == KILL_LINE:
            self._erase(len(self._typed))
        elif byte in (BACKSPACE, DELETE):
            self._erase(min(1, len(self._typed)))
        elif byte != 0:
            return self._type(NEWLINE if byte == CARRIAGE_RETURN else byte)
        return False

    def empty_line(self) -> None:
        """Finish a line that nobody typed: a shell that reads it shows its prompt again."""
        self._lines.append(NEWLINE)

    def hangup(self) -> None:
        """No more input will come. An unfinished line counts as finished."""
        self.ended = True
        self._finish_line()

    def _type(self, byte: int) -> bool:
        self._show(bytes([byte]))
        self._typed.append(byte)
        finished = byte in (NEWLINE, END_OF_FILE) or len(self._typed) == INPUT_BUF_SIZE
        if finished:
            self._finish_line()
        return finished

    def _finish_line(self) -> None:
        self._lines += self._typed
        self._typed.clear()

    def _erase(self, count: int) -> None:
        del self._typed[len(self._typed) - count :]
        self._show(RUBOUT * count)

    def _show(self, echoed: bytes) -> None:
        if self._echo:
            self._output(echoed)

    # ---- the program's side -------------------------------------------------------------------

    def read(self, count: int) -> bytes | None:
        """Up to ``count`` bytes, up to a newline (included) or a ^D (taken and left out). Empty for a ^D
        on its own and at the end of input; None when there is not that much yet."""
        window = self._lines[:count]
        for length, byte in enumerate(window, start=1):
            if byte == NEWLINE:
                return self._take(length)
            if byte == END_OF_FILE:
                return self._take(length)[:-1]
        if len(window) == count or self.ended:
            return self._take(len(window))
        return None

    def write(self, data: Data) -> int:
        """Send ``data`` to the screen, all of it, byte for byte."""
        self._output(bytes(data))
        return len(data)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._lines[:count])
        del self._lines[:count]
        return taken
