"""Fill the file system from a folder of the host.

A guest can use names of at most DIRSIZ bytes and paths of less than MAXPATH bytes; whatever is
out of its reach, or is neither a file nor a folder, is left out with a warning. Large files
are mapped instead of read, so that a model of 135 MB costs nothing at boot; small ones are
read, so that a program may be built anew on the host while the machine runs.
"""

import os
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from nexemu.abi import T_FILE
from nexemu.errors import BadFile, OperatorError
from nexemu.fs.content import Content
from nexemu.fs.path import text
from nexemu.fs.ramfs import RamFs
from nexemu.param import DIRSIZ, MAXPATH

MAP_FROM: Final = 1 << 20  # bytes


def load_tree(fs: RamFs, folder: Path) -> list[str]:
    """Copy what ``folder`` holds to the root of ``fs``. Where a file of that name is there already, the
    new bytes replace its own. Returns a warning for each thing left out. Raises OperatorError when
    ``folder`` is no folder that can be read."""
    try:
        children = _children(folder)
    except OSError as error:
        why = f"image {folder}: {error.strerror}; give a folder of files for the guest"
        raise OperatorError(why) from error
    return list(_load(fs, children, b""))


def _load(fs: RamFs, children: list[Path], inside: bytes) -> Iterator[str]:
    """Copy ``children`` into the guest's directory ``inside``, yielding warnings."""
    for child in children:
        path = inside + b"/" + os.fsencode(child.name)
        try:
            below = _copy(fs, child, path)
        except OSError as error:
            yield f"{child}: left out: {error.strerror}"
        except BadFile as error:
            yield f"{child}: left out: {error}"
        else:
            yield from _load(fs, below, path)


def _copy(fs: RamFs, child: Path, path: bytes) -> list[Path]:
    """Make ``child`` known to the guest as ``path``; returns its own children. Raises BadFile, OSError."""
    _check_reach(path)
    if child.is_file():
        content = host_content(child)
        fs.adopt(fs.create(path, T_FILE, fs.root), content)
        return []
    if child.is_dir() and not child.is_symlink():  # a link may lead into a circle
        children = _children(child)
        _make_directory(fs, path)
        return children
    raise BadFile("neither a file nor a folder")


def _check_reach(path: bytes) -> None:
    name = path.rpartition(b"/")[2]
    if len(name) > DIRSIZ:
        raise BadFile(f"a guest can use names of {DIRSIZ} bytes, this one has {len(name)}")
    if len(path) >= MAXPATH:
        raise BadFile(f"a guest can use paths of {MAXPATH - 1} bytes, this one would have {len(path)}")


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda child: os.fsencode(child.name))


def _make_directory(fs: RamFs, path: bytes) -> None:
    """Make the directory ``path``, unless an earlier folder brought it."""
    try:
        existing = fs.namei(path, fs.root)
    except BadFile:
        fs.mkdir(path, fs.root)
        return
    if not existing.is_dir:
        raise BadFile(f"{text(path)} is a file already")


def host_content(file: Path) -> Content:
    """The bytes of a host file, mapped when there are many. Raises OSError."""
    with file.open("rb") as opened:
        if os.fstat(opened.fileno()).st_size < MAP_FROM:
            return Content(opened.read())
        return Content(mmap(opened.fileno(), 0, access=ACCESS_READ))
