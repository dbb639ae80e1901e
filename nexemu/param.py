"""The kernel's sizes, as the NexOS memory lab has them.

xv6: kernel/param.h; ABI.md, "Limits"
"""

from typing import Final

NPROC: Final = 16  # processes, the two reserved workers included
NWORKERS: Final = 2  # pids 1 and 2 stand for NexOS's AI workers; nothing runs there
NOFILE: Final = 16  # open files per process
NFILE: Final = 64  # open files in all
NINODE: Final = 64  # inodes in use in all
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
