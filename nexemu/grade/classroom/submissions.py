"""What a class has handed in: folders, zips and single files, whatever is in them.

Nothing is unpacked and nothing is executed here: one file of each submission is read, of limited
length. So a zip can neither write anywhere nor blow up, and a symbolic link leads nowhere. What
cannot be read is a submission too, with the reason in place of a handler.
"""

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Final, TypeVar

from nexemu.errors import OperatorError
from nexemu.grade.student.local import LONGEST

WANTED: Final = "handler.py"
WANTED_KINDS: Final = "give a folder of folders, zips and .py files, one a student"
DEEPEST: Final = 4
MOST_ENTRIES: Final = 10_000
"""Of a zip or a folder that are looked at."""

AnyPath = TypeVar("AnyPath", bound=PurePath)


@dataclass(frozen=True, slots=True)
class HandedIn:
    """One submission. ``text`` is its handler; None where there is none, and then ``problem`` says why."""

    name: str
    text: str | None
    problem: str = ""


class _Unreadable(Exception):
    """Why there is no handler; the text is for the teacher's table."""


def collect(folder: Path, results: Path) -> list[HandedIn]:
    """Every submission in ``folder``, by name. Hidden files are none, nor is the folder of ``results``.
    Raises OperatorError."""
    place = os.path.realpath(results)
    if place == os.path.realpath(folder):
        raise OperatorError(f"--out {results}: that is the submissions' folder; name another one")
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise OperatorError(f"submissions {folder}: {error.strerror}; {WANTED_KINDS}") from error
    entries = [entry for entry in entries if not (entry.is_dir() and os.path.realpath(entry) == place)]
    if not entries:
        raise OperatorError(f"submissions {folder}: there is nothing in it; {WANTED_KINDS}")
    return [_read(entry) for entry in entries]


def _read(entry: Path) -> HandedIn:
    name = entry.name.encode("utf-8", "backslashreplace").decode()
    try:
        return HandedIn(name, _decoded(_content(entry)))
    except _Unreadable as error:
        return HandedIn(name, None, str(error))
    except OSError as error:
        return HandedIn(name, None, error.strerror or type(error).__name__)


def _content(entry: Path) -> bytes:
    if entry.is_symlink():
        raise _Unreadable("a symbolic link")
    if entry.is_dir():
        return _of_file(_only(list(_handlers_in(entry)), entry.name))
    if entry.suffix.lower() == ".zip":
        return _of_zip(entry)
    if entry.suffix.lower() == ".py":
        return _of_file(entry)
    raise _Unreadable("neither a folder, nor a zip, nor a .py file")


def _of_file(path: Path) -> bytes:
    """The content of a regular file, and of nothing that only looks like one."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise _Unreadable(f"{path.name} is no regular file")
        return opened.read(LONGEST + 1)


def _handlers_in(folder: Path) -> Iterator[Path]:
    seen = 0
    for where, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > MOST_ENTRIES:
            raise _Unreadable(f"more than {MOST_ENTRIES:,} files")
        if len(Path(where).relative_to(folder).parts) >= DEEPEST:
            folders.clear()
        if WANTED in files:
            yield Path(where, WANTED)


def _only(found: list[AnyPath], where: str) -> AnyPath:
    """The handler that lies highest; two at the same height are one too many."""
    if not found:
        raise _Unreadable(f"no {WANTED} in {where}")
    height = min(len(path.parts) for path in found)
    highest = sorted(path for path in found if len(path.parts) == height)
    if len(highest) > 1:
        raise _Unreadable(f"{len(highest)} files called {WANTED}: {', '.join(map(str, highest[:3]))}")
    return highest[0]


def _of_zip(path: Path) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            names = {PurePosixPath(name): name for name in archive.namelist()[:MOST_ENTRIES]}
            found = [each for each in names if each.name == WANTED and "__MACOSX" not in each.parts]
            with archive.open(names[_only(found, path.name)]) as opened:
                return opened.read(LONGEST + 1)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ):
        raise _Unreadable("a zip that cannot be read: damaged, encrypted, or of an unknown kind") from None


def _decoded(content: bytes) -> str:
    if len(content) > LONGEST:
        raise _Unreadable(f"{WANTED} is larger than {LONGEST >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Unreadable(f"{WANTED} is not UTF-8 text (byte {error.start})") from None
