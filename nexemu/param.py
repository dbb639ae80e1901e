"""The kernel's sizes: those that both teaching kernels share, and :class:`Limits` for the others.

xv6: kernel/param.h; ABI.md and XV6_ABI.md, "Limits"
"""

from dataclasses import dataclass
from typing import Final

NOFILE: Final = 16  # open files per process
MAXVMA: Final = 16  # mmap areas per process
MAXARG: Final = 32  # exec's argv, its NULL included
MAXPATH: Final = 128  # a path, its NUL included
DIRSIZ: Final = 14  # a directory entry's name
PIPESIZE: Final = 512
INPUT_BUF_SIZE: Final = 128  # a console line
USERSTACK: Final = 1  # pages of user stack

TIMEBASE_HZ: Final = 10_000_000  # the `time` CSR, in ticks of virtual time
CYCLES_PER_TICK: Final = 1_000_000  # 0.1 s: one timer tick, the unit of sleep() and uptime()
TRAP_CYCLES: Final = 1_000  # virtual time that one kernel entry costs
QUANTUM: Final = 100_000  # instructions that a process runs before the next one gets the hart

RAM_BYTES: Final = 128 << 20
RAM_BYTES_WITH_MODEL: Final = 1536 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in which the two teaching kernels differ. ``nproc`` counts the ``workers`` too: kernel
    threads that take the first pids and a slot each, and never run here."""

    nproc: int  # processes
    workers: int
    nfile: int  # open files in all
    ninode: int  # inodes in use in all
    argument_bytes: int  # one string of exec's argv, its NUL included
    disk_inodes: int  # files, directories and devices that can exist
    disk_bytes: int  # what they can store in all
    block_bytes: int  # of which each takes whole blocks
    file_bytes: int  # what one of them can store


NEXOS_LIMITS: Final = Limits(
    nproc=16,
    workers=2,  # its two AI workers
    nfile=64,
    ninode=64,
    argument_bytes=MAXPATH,
    disk_inodes=4096,
    disk_bytes=65_536 * (16 << 10),
    block_bytes=16 << 10,
    file_bytes=1 << 30,
)

XV6_LIMITS: Final = Limits(
    nproc=64,
    workers=0,
    nfile=100,
    ninode=50,
    argument_bytes=4096,
    disk_inodes=200,
    disk_bytes=1954 * 1024,  # of 2000 blocks, 46 are for the boot sector, the log, inodes and the bitmap
    block_bytes=1024,
    file_bytes=268 << 10,  # 12 direct blocks and 256 behind one indirect block
)
