"""A sandbox's process, seen from outside: start it, exchange bytes with it, and end it.

It is a Python of its own in a session of its own, without environment, in the root folder, where it may
not write. What it prints goes to a pipe that is emptied here, so that it can neither fill a disk nor
block.
"""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from nexemu.grade.student.source import HandlerFailed

PACKAGE: Final = Path(__file__).parents[3]
"""The folder from which the sandbox imports nexemu."""
BOOT: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from nexemu.grade.sandbox.child import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)
FLAGS: Final = ("-I", "-S", "-B", "-u", "-c")
"""Isolated from environment and site-packages, leaving no bytecode, printing at once."""
LOOK_MS: Final = 500
ASLEEP_LOOKS: Final = 6
"""So many looks in a row at a process that sleeps, while it should answer, and it will never answer."""
SILENT_LOOKS: Final = 240
"""The last resort, where it cannot be seen whether it sleeps: two minutes."""
KEPT_OUTPUT: Final = 16 << 10
MOST_OUTPUT: Final = 1 << 20
PIECE: Final = 1 << 16


class Process:
    """A running sandbox. To be closed."""

    def __init__(self) -> None:
        theirs, self._sink = os.pipe()
        self._source, their_sink = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, *FLAGS, BOOT, str(PACKAGE), str(theirs), str(their_sink)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs, their_sink),
                cwd="/",
                env={},
                start_new_session=True,
            )
        finally:
            os.close(theirs)
            os.close(their_sink)
        assert self._process.stdout is not None
        self._printing = self._process.stdout.fileno()
        self._printed = bytearray()
        self._printed_bytes = 0
        os.set_blocking(self._printing, False)
        os.set_blocking(self._sink, False)
        self._poll = select.poll()
        self._poll.register(self._source, select.POLLIN)
        self._poll.register(self._printing, select.POLLIN)

    def close(self) -> None:
        """Kill it and whatever it may have started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._process.wait()
        while self._keep_output():
            pass
        assert self._process.stdout is not None
        self._process.stdout.close()
        os.close(self._source)
        os.close(self._sink)

    @property
    def output(self) -> str:
        """The beginning of what was printed, as text that a terminal can show."""
        return printable(bytes(self._printed))

    def send(self, data: bytes) -> None:
        """Send all of ``data``; a process that is gone is noticed at the next ``receive``. Raises
        HandlerFailed when it will not take it."""
        while data:
            try:
                data = data[os.write(self._sink, data) :]
            except BlockingIOError:
                self._poll.register(self._sink, select.POLLOUT)
                self._wait(self._sink)
                self._poll.unregister(self._sink)
            except BrokenPipeError:
                return

    def receive(self, count: int) -> bytes:
        """Exactly ``count`` bytes. Raises HandlerFailed when they will not come."""
        data = b""
        while len(data) < count:
            self._wait(self._source)
            piece = os.read(self._source, count - len(data))
            if not piece:
                raise HandlerFailed(self._how_it_ended())
            data += piece
        return data

    def _wait(self, wanted: int) -> None:
        """Return when the descriptor ``wanted`` is ready; keep what is printed meanwhile."""
        looks = asleep = 0
        while True:
            ready = [descriptor for descriptor, _ in self._poll.poll(LOOK_MS)]
            if self._printing in ready and not self._keep_output():
                self._poll.unregister(self._printing)
            if self._printed_bytes > MOST_OUTPUT:
                raise HandlerFailed("the handler prints without end")
            if wanted in ready:
                return
            if not ready:
                looks += 1
                asleep = asleep + 1 if self._sleeps() else 0
            if asleep >= ASLEEP_LOOKS or looks >= SILENT_LOOKS:
                raise HandlerFailed("the handler waits for something that will never come")

    def _keep_output(self) -> bool:
        """Take what was printed; False at its end."""
        try:
            piece = os.read(self._printing, PIECE)
        except BlockingIOError:
            return False
        self._printed += piece[: KEPT_OUTPUT - len(self._printed)]
        self._printed_bytes += len(piece)
        return bool(piece)

    def _sleeps(self) -> bool:
        """Whether the system says that it waits or was stopped; waiting for a processor is not that."""
        try:
            state = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state in "STt"

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "the handler closed its side of the pipe"
        if status >= 0:
            return f"the handler ended its process, with exit status {status}"
        if -status in (signal.SIGXCPU, signal.SIGKILL):
            return "the handler's process was killed: it used more processor time or memory than is sensible"
        return f"the handler's process was killed by signal {-status}"


def printable(data: bytes) -> str:
    """``data`` as text without the control characters that could make a terminal lie."""
    text = data.decode("utf-8", "replace").replace("\r", "")
    return "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text
    )
