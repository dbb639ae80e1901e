"""The host's side of the console: keys from a terminal or a file, bytes to standard output.

On a terminal every key reaches the guest at once, so the terminal is put into raw input (its output
stays as it is) and a thread listens: it is the only way to interrupt a program that never calls
the kernel. Ctrl-A X leaves, as in QEMU; Ctrl-A Ctrl-A types one Ctrl-A.
"""

import os
import signal
import socket
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO
from queue import SimpleQueue
from types import FrameType
from typing import Final, TypeAlias

from nexemu.errors import OperatorError

CHUNK: Final = 4096
ESCAPE: Final = 0x01  # Ctrl-A
MOMENT: Final = 0.02  # seconds
ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Interrupt: TypeAlias = Callable[[BaseException, FrameType | None], None]
"""Raises the error, now or as soon as it can, for a signal that came at the frame."""


class Leave(Exception):
    """The person at the terminal typed Ctrl-A X."""


class FileKeyboard:
    """Standard input that is not a terminal: read a line at a time, when a program wants one."""

    on_demand = True

    def __init__(self) -> None:
        self._file = BufferedReader(FileIO(0, closefd=False))

    def poll(self) -> bytes:
        """Nothing is typed unasked."""
        return b""

    def wait(self) -> bytes | None:
        """The next line, None at the end. Raises OperatorError."""
        try:
            return self._file.readline() or None
        except OSError as error:
            raise OperatorError(f"standard input: {error.strerror}") from error


class TerminalKeyboard:
    """A terminal, once :meth:`listen` was called."""

    on_demand = False

    def __init__(self) -> None:
        self._typed: SimpleQueue[bytes | None] = SimpleQueue()
        self._escaped = False

    def listen(self, notify: Callable[[], None]) -> None:
        """Begin; ``notify`` is called, from another thread, whenever something was typed."""
        threading.Thread(target=self._listen, args=(notify,), daemon=True).start()

    def _listen(self, notify: Callable[[], None]) -> None:
        typed: bytes | None = b""
        while typed is not None:
            typed = _read_keys()
            self._typed.put(typed)
            _insist(notify)

    def poll(self) -> bytes | None:
        """What was typed since the last call, None when the terminal is gone. Raises Leave."""
        keys = b""
        while not self._typed.empty():
            typed = self._typed.get()
            if typed is None:
                self._typed.put(None)  # to be told of when the keys before it are taken
                return self._without_escapes(keys) if keys else None
            keys += typed
        return self._without_escapes(keys)

    def wait(self) -> bytes | None:
        """The next typed bytes, None when the terminal is gone. Raises Leave."""
        typed = self._typed.get()
        return None if typed is None else self._without_escapes(typed)

    def _without_escapes(self, keys: bytes) -> bytes:
        kept = bytearray()
        for key in keys:
            if self._escaped:
                self._escaped = False
                if key in b"xX":
                    raise Leave
                if key == ESCAPE:
                    kept.append(key)
            elif key == ESCAPE:
                self._escaped = True
            else:
                kept.append(key)
        return bytes(kept)


def _insist(stop: Callable[[], None]) -> None:
    """Stop the hart, and once more a moment later: Unicorn forgets a stop that comes while it starts."""
    stop()
    time.sleep(MOMENT)
    stop()


def _read_keys() -> bytes | None:
    try:
        return os.read(0, CHUNK) or None
    except OSError:  # the terminal was closed
        return None


@contextmanager
def raw_input() -> Iterator[None]:
    """Keys reach us one by one and unechoed, until the block ends. Output keeps turning NL into CR NL."""
    before = termios.tcgetattr(0)
    raw = termios.tcgetattr(0)
    raw[0] &= ~(termios.ICRNL | termios.IXON)
    raw[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
    termios.tcsetattr(0, termios.TCSADRAIN, raw)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal itself may be gone
            termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def ended_by_signals(interrupt: Interrupt, stop: Callable[[], None]) -> Iterator[None]:
    """While the block runs, a signal such as Ctrl-C's ends it: ``interrupt`` gets a SystemExit with the
    status that a shell would show, and the place where the signal came. Python calls it only when guest
    code, which may loop for ever, returns to Python, so ``stop`` is called at each signal too, from
    another thread."""

    def end(number: int, frame: FrameType | None) -> None:
        for each in heeded:
            signal.signal(each, signal.SIG_IGN)
        interrupt(SystemExit(128 + number), frame)

    heeded = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    with _called_at_each_signal(stop):
        handlers = {number: signal.signal(number, end) for number in heeded}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


@contextmanager
def _called_at_each_signal(stop: Callable[[], None]) -> Iterator[None]:
    ours, pythons = socket.socketpair()
    pythons.setblocking(False)
    before = signal.set_wakeup_fd(pythons.fileno())
    listener = threading.Thread(target=_stop_at_each_byte, args=(ours, stop), daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        pythons.close()
        listener.join()
        ours.close()


def _stop_at_each_byte(source: socket.socket, stop: Callable[[], None]) -> None:
    while source.recv(1):
        _insist(stop)


def write_stdout(data: bytes | memoryview) -> None:
    """All of ``data`` to standard output, at once and unchanged. Raises OperatorError; BrokenPipeError when
    its reader has gone."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OperatorError(f"standard output: {error.strerror}") from error
