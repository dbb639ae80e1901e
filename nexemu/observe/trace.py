"""A trace file: one event a line, as JSON.

The file is written whole lines at a time, so that the trace of a machine that was killed can be
read up to there. It holds no host time and no host address: the same run writes the same bytes.
"""

import json
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from nexemu.errors import OperatorError
from nexemu.events import Event
from nexemu.observe.plain import plain

BATCH: Final = 256  # lines that are kept before they are written


class TraceWriter:
    """An emitter that writes to ``path``, which it creates or replaces. Raises OperatorError, here and
    wherever it writes, when the host refuses. To be closed: the last lines are written then."""

    __slots__ = ("_encode", "_file", "_lines", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] = []
        self._encode = json.JSONEncoder(separators=(",", ":")).encode
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise self._refused(error) from error

    def __call__(self, event: Event) -> None:
        self._lines.append(self._encode(plain(event)))
        if len(self._lines) >= BATCH:
            self._flush()

    def close(self) -> None:
        """Write what is left. Closing again does nothing."""
        if not self._file.closed:
            try:
                self._flush()
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush(self) -> None:
        text = "".join(line + "\n" for line in self._lines)
        self._lines.clear()
        left = memoryview(text.encode())
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> OperatorError:
        return OperatorError(f"trace {self._path}: {error.strerror}; name a file that can be written")
