"""What a sandbox gives up before it executes anybody's text, so that it cannot have it back.

The honesty of a grade does not rest on this: the verdict is computed elsewhere, and this process
has no say in it. It keeps the computer safe, and sees to it that nothing is left behind. What each
system can guarantee is in docs/GRADING.md.
"""

import ctypes
import os
import resource
import signal
import sys
from importlib import import_module
from typing import Any, Final

from nexemu.grade.sandbox import seccomp

CPU_SECONDS: Final = 3
MEMORY: Final = 512 << 20
OPEN_FILES: Final = 32
ENOUGH_FILES: Final = 1024
NOBODY: Final = 65534

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_NO_NEW_PRIVS: Final = 38

USUAL_IMPORTS: Final = (
    *("abc", "array", "bisect", "collections", "contextlib", "copy", "dataclasses", "enum", "functools"),
    *("heapq", "itertools", "math", "operator", "pprint", "re", "string", "struct", "textwrap", "time"),
    *("traceback", "types", "typing", "warnings"),
)
"""What a handler can import: it is loaded while files can still be opened."""


def renounce() -> None:
    """Limit this process to computing: little memory and time, no file, socket or process of its own."""
    for name in USUAL_IMPORTS:
        import_module(name)
    _limit(resource.RLIMIT_CPU, CPU_SECONDS)
    _limit(resource.RLIMIT_AS, MEMORY)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        _become_nobody()
    _limit(resource.RLIMIT_NPROC, 0)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        seccomp.install(libc)
    sys.addaudithook(_refuse)


def _limit(what: int, most: int) -> None:
    """Set a limit for good; one that the system does not know, or keeps lower already, is left."""
    try:
        resource.setrlimit(what, (most, most))
    except (OSError, ValueError):
        return


def _become_nobody() -> None:
    """Not even root's files are within reach then. A root without this right stays, as in some containers."""
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    except PermissionError:
        return


REFUSED: Final = frozenset(
    {
        *("open", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system"),
        *("os.kill", "os.killpg", "socket.__new__", "socket.connect", "socket.bind", "subprocess.Popen"),
        *(
            "os.remove",
            "os.rename",
            "os.mkdir",
            "os.rmdir",
            "os.link",
            "os.symlink",
            "os.truncate",
            "os.chmod",
        ),
    }
)
"""Audit events of what a handler has no business with. Somebody who means harm can get around this, not
around the rest; it is here for the clear message, and for systems where there is no more."""


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in REFUSED:
        raise PermissionError(f"{event}: a handler runs without files, network and processes")


def protect_this_process() -> None:
    """For the process that judges: nobody but root may look into its memory or change it from outside.
    It will not need many files, and starting sandboxes is quicker when it cannot have many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not 0 <= soft <= ENOUGH_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (ENOUGH_FILES, hard))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
