"""A student's handler in this very process: ``nexemu run --handler``.

Nothing protects the machine from it here, nor its author from endless loops; for both there is the
grader. What it does is checked all the same, so that a mistake is a message and not a riddle.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nexemu.errors import OperatorError
from nexemu.events import Emit
from nexemu.grade.primitive import Function
from nexemu.grade.student.adapter import handler_of
from nexemu.grade.student.primitives import Primitives
from nexemu.grade.student.source import answer, load
from nexemu.mem.vm import AddressSpace, Handler

LONGEST: Final = 1 << 20
"""Bytes of a handler.py that are read; the starter has a few thousand."""


def read_handler(path: Path) -> str:
    """The text of the handler at ``path``, or of handler.py in the folder ``path``. Raises OperatorError."""
    file = path / "handler.py" if path.is_dir() else path
    try:
        with file.open("rb") as opened:
            content = opened.read(LONGEST + 1)
    except OSError as error:
        raise OperatorError(f"handler {file}: {error.strerror}; `nexemu new FOLDER` writes one") from error
    if len(content) > LONGEST:
        raise OperatorError(f"handler {file}: more than {LONGEST >> 20} MiB; is it the right file?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OperatorError(
            f"handler {file}: not UTF-8 text (byte {error.start}): save it as UTF-8, if it is the right file"
        ) from error


def handler_at(path: Path, emit: Emit | None) -> Handler:
    """The handler at ``path``, for one machine; ``emit`` is told what it does. Raises OperatorError when it
    cannot be read, HandlerFailed when it cannot be executed, and whenever it breaks."""
    return handler_of(LocalStudent(read_handler(path), "handler.py" if path.is_dir() else path.name), emit)


class LocalStudent:
    """The functions of the handler ``text``, to be called ``name``. Raises HandlerFailed."""

    def __init__(self, text: str, name: str, limited: bool = False) -> None:
        self._handler = load(text, name)
        self._limited = limited
        self._primitives: Primitives | None = None

    def call(self, function: Function, spaces: Sequence[AddressSpace], a: int = 0, b: int = 0) -> int:
        """See :class:`~nexemu.grade.student.adapter.Student`."""
        primitives = self._primitives
        if primitives is None or primitives.frames is not spaces[0].frames:
            primitives = self._primitives = Primitives(spaces[0].frames, self._limited)
        handles = primitives.begin(spaces)
        return answer(self._handler, function, primitives, handles, a, b)
