"""File descriptors: small numbers that a process gives to its open files.

xv6: argfd() and fdalloc() in kernel/sysfile.c
"""

from nexemu.errors import BadFile
from nexemu.fs.file import File
from nexemu.proc.proc import Proc


def open_file(proc: Proc, fd: int) -> File:
    """The file behind ``fd``. Raises BadFile."""
    file = proc.files[fd] if 0 <= fd < len(proc.files) else None
    if file is None:
        raise BadFile(f"descriptor {fd} is not open")
    return file


def free_descriptors(proc: Proc, count: int) -> list[int]:
    """The ``count`` lowest numbers that are free. Raises BadFile."""
    free = [fd for fd, file in enumerate(proc.files) if file is None]
    if len(free) < count:
        raise BadFile(f"all {len(proc.files)} descriptors are open")
    return free[:count]
