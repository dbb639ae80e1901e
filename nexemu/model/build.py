"""Building a folder so that nobody sees it half done.

Invariant: the folder's name exists only once everything in it is written; a build that is
interrupted leaves nothing but a hidden sibling, which the next build removes. One build at a time
in one parent folder, over all processes, by a lock that the system releases if its holder dies.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nexemu.errors import OperatorError


@contextmanager
def locked(parent: Path) -> Iterator[None]:
    """Hold ``parent``'s lock, waiting for it if need be; ``parent`` is made where it is missing.

    Raises OperatorError where nothing can be written.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(parent / ".lock", os.O_CREAT | os.O_RDWR)
    except OSError as error:
        raise OperatorError(
            f"cannot write to the cache {parent}: {error.strerror}; set NEXEMU_CACHE to another folder"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; it takes ``folder``'s name, and place, when the block ends well.

    The caller holds the lock of ``folder``'s parent.
    """
    mark = f".{folder.name}."
    try:
        for abandoned in folder.parent.glob(f"{mark}*"):
            shutil.rmtree(abandoned)
        part = Path(tempfile.mkdtemp(prefix=mark, dir=folder.parent))
        try:
            yield part
            part.chmod(0o755)
            if folder.exists():
                shutil.rmtree(folder)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise OperatorError(f"cannot build {folder}: {error.strerror or error}") from error
