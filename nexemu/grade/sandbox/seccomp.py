"""A system call filter for the sandbox, on Linux: what is not on the list fails with EPERM.

The list is what a Python that computes and answers its pipe needs, once everything is imported.
Nothing on it opens or makes a file, a socket, a process or a signal.

Linux: Documentation/userspace-api/seccomp_filter.rst; the numbers are those of each architecture.
"""

import ctypes
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

PR_SET_SECCOMP: Final = 22
SECCOMP_MODE_FILTER: Final = 2
ALLOW: Final = 0x7FFF_0000
REFUSE: Final = 0x0005_0000 | 1  # EPERM

LOAD_WORD: Final = 0x20
JUMP_IF_EQUAL: Final = 0x15
RETURN: Final = 0x06
NUMBER_AT, ARCHITECTURE_AT = 0, 4  # in struct seccomp_data


@dataclass(frozen=True, slots=True)
class Architecture:
    """``audit`` is how the filter recognises it. ``allowed`` are the numbers of calls."""

    audit: int
    allowed: tuple[int, ...]


# read write close fstat lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn pread64
# access sched_yield mremap madvise getpid setitimer exit uname getcwd readlink gettimeofday getrusage
# sysinfo getuid getgid geteuid getegid sigaltstack gettid futex getdents64 restart_syscall clock_gettime
# clock_getres exit_group newfstatat readlinkat faccessat getrandom membarrier statx rseq faccessat2
X86_64: Final = Architecture(
    audit=0xC000_003E,
    allowed=(
        *(0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 17, 21, 24, 25, 28, 39, 38, 60, 63, 79, 89, 96, 98, 99),
        *(102, 104, 107, 108, 131, 186, 202, 217, 219, 228, 229, 231, 262, 267, 269, 318, 324, 332, 334, 439),
    ),
)
# The same, as far as this architecture has them.
AARCH64: Final = Architecture(
    audit=0xC000_00B7,
    allowed=(
        *(63, 64, 57, 80, 62, 222, 226, 215, 214, 134, 135, 139, 67, 124, 216, 233, 172, 103, 93, 160, 17),
        *(169, 165, 179, 174, 176, 175, 177, 132, 178, 98, 61, 128, 113, 114, 94, 79, 78, 48, 278, 283, 291),
        *(293, 439),
    ),
)
ARCHITECTURES: Final[Mapping[str, Architecture]] = {"x86_64": X86_64, "aarch64": AARCH64}


class Instruction(ctypes.Structure):
    """struct sock_filter."""

    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("operand", ctypes.c_uint32),
    )


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction)))


def filter_of(architecture: Architecture) -> list[tuple[int, int, int, int]]:
    """The filter as rows of code, jump if true, jump if false, operand."""
    rows = [
        (LOAD_WORD, 0, 0, ARCHITECTURE_AT),
        (JUMP_IF_EQUAL, 1, 0, architecture.audit),
        (RETURN, 0, 0, REFUSE),
        (LOAD_WORD, 0, 0, NUMBER_AT),
    ]
    for number in architecture.allowed:
        rows += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    rows.append((RETURN, 0, 0, REFUSE))
    return rows


def install(libc: ctypes.CDLL) -> bool:
    """Filter this process from now on, and everything that it may become. False where the system has no
    filters, or is of an architecture that is not listed. Needs PR_SET_NO_NEW_PRIVS."""
    architecture = ARCHITECTURES.get(platform.machine())
    if architecture is None:
        return False
    rows = filter_of(architecture)
    program = Program(len(rows), (Instruction * len(rows))(*(Instruction(*row) for row in rows)))
    return bool(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)
