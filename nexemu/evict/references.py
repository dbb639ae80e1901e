"""Reference strings in files: which pages a run used, one after the other.

A file has one page a line, in decimal, as ``pid << 26 | virtual page``; repeats of the same page are
left out. Lines that begin with ``#`` explain. It holds no host time: the same run writes the same bytes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from nexemu.errors import OperatorError

Write: TypeAlias = Callable[[int], None]

HEADER: Final = "# nexemu: pages in the order of their use, pid << 26 | virtual page, repeats left out\n"
BATCH: Final = 4096
"""References that are kept before they are written."""


@contextmanager
def references_to(path: Path) -> Iterator[Write]:
    """What appends a page to the file at ``path``, which is made or replaced. Raises OperatorError, here and
    wherever it writes, when the host refuses."""
    kept: list[int] = []

    def write(page: int) -> None:
        kept.append(page)
        if len(kept) >= BATCH:
            flush()

    def flush() -> None:
        left = memoryview("".join(f"{page}\n" for page in kept).encode())
        kept.clear()
        with _refusal_as_operator_error(path):
            while left:
                left = left[file.write(left) :]

    with _refusal_as_operator_error(path):
        file = path.open("wb", buffering=0)
    with file:
        with _refusal_as_operator_error(path):
            file.write(HEADER.encode())
        yield write
        flush()


@contextmanager
def _refusal_as_operator_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OperatorError(f"--record {path}: {error.strerror}; name a file that can be written") from error


def read_references(path: Path) -> list[int]:
    """The pages in the file at ``path``. Raises OperatorError when it is none."""
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise OperatorError(f"{path}: {reason}; make one by `nexemu run --record {path}`") from error
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    wrong = next((line for line in lines if not line.isdecimal()), None)
    if wrong is not None or not lines:
        what = f"{wrong!r} is no page" if wrong is not None else "there is no page in it"
        raise OperatorError(f"{path}: {what}; make one by `nexemu run --record {path}`")
    return [int(line) for line in lines]
