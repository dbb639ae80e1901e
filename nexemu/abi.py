"""The system calls of the user ABIs: ONE table each of number, name and C prototype.

Everything else about a call follows from its row: how the gate reads its arguments (an
``int`` is the low 32 bits, sign-extended; a pointer or a ``uint64`` is all 64), the assembly
stubs ``guest/usys.S`` and the guest's header. The behaviour of each call is in ABI.md and
XV6_ABI.md; calls of one name behave alike in both, but for what personality.py lists.

Structures are given as :mod:`struct` formats, little-endian, with their padding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: its C type and its name."""

    ctype: str
    name: str

    @property
    def is_int(self) -> bool:
        return self.ctype == "int"

    @property
    def is_pointer(self) -> bool:
        return self.ctype.endswith("*")


@dataclass(frozen=True, slots=True)
class Prototype:
    """A row of the table, its C prototype taken apart."""

    number: int
    name: str
    returns: str
    params: tuple[Param, ...]

    def c_declaration(self) -> str:
        """The prototype as the guest's header shows it."""
        listed = ", ".join(f"{p.ctype}{'' if p.is_pointer else ' '}{p.name}" for p in self.params)
        space = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{space}{self.name}({listed or 'void'});"


def _split(declarator: str) -> Param:
    cut = max(declarator.rfind(" "), declarator.rfind("*")) + 1
    return Param(declarator[:cut].strip(), declarator[cut:])


def _prototype(number: int, text: str) -> Prototype:
    head, _, tail = text.rstrip(";)").partition("(")
    function = _split(head)
    params = () if tail == "void" else tuple(_split(part.strip()) for part in tail.split(","))
    return Prototype(number, function.name, function.ctype, params)


def _table(*rows: tuple[int, str]) -> tuple[Prototype, ...]:
    return tuple(_prototype(number, text) for number, text in rows)


NEXOS: Final = _table(
    (1, "int write(int fd, const void *buf, int n)"),
    (2, "int yield(void)"),
    (3, "void exit(int status)"),
    (4, "void *sbrk(int n)"),
    (5, "int fork(void)"),
    (6, "int wait(int *status)"),
    (7, "int exec(const char *path, char **argv)"),
    (8, "int read(int fd, void *buf, int n)"),
    (9, "int close(int fd)"),
    (10, "int dup(int fd)"),
    (11, "int open(const char *path, int mode)"),
    (12, "int getpid(void)"),
    (13, "int sleep(int ticks)"),
    (14, "int uptime(void)"),
    (15, "int kill(int pid)"),
    (16, "int pipe(int *fds)"),
    (17, "int fstat(int fd, struct stat *st)"),
    (18, "int chdir(const char *path)"),
    (19, "int mkdir(const char *path)"),
    (20, "int unlink(const char *path)"),
    (21, "int link(const char *old, const char *new)"),
    (22, "void *mmap(void *addr, uint64 len, int prot, int flags, int fd, uint64 off)"),
    (23, "int munmap(void *addr, uint64 len)"),
    (24, "int ai_call(const char *prompt, int plen, char *out, int cap)"),
    (25, "int ai_submit(const char *prompt, int plen)"),
    (26, "int ai_wait(int id, char *out, int cap)"),
    (27, "int ai_query(int id, struct ai_status *st)"),
    (28, "int memstat(struct memstat *st)"),
    # Beyond NexOS, for `ps`; far from its numbers so that they can grow.
    (100, "int getprocs(struct procinfo *table, int max)"),
)

XV6: Final = _table(
    (1, "int fork(void)"),
    (2, "void exit(int status)"),
    (3, "int wait(int *status)"),
    (4, "int pipe(int *fds)"),
    (5, "int read(int fd, void *buf, int n)"),
    (6, "int kill(int pid)"),
    (7, "int exec(const char *path, char **argv)"),
    (8, "int fstat(int fd, struct stat *st)"),
    (9, "int chdir(const char *path)"),
    (10, "int dup(int fd)"),
    (11, "int getpid(void)"),
    (12, "void *sbrk(int n, int type)"),
    (13, "int pause(int ticks)"),
    (14, "int uptime(void)"),
    (15, "int open(const char *path, int mode)"),
    (16, "int write(int fd, const void *buf, int n)"),
    (17, "int mknod(const char *path, int major, int minor)"),
    (18, "int unlink(const char *path)"),
    (19, "int link(const char *old, const char *new)"),
    (20, "int mkdir(const char *path)"),
    (21, "int close(int fd)"),
)
"""xv6-riscv of September 2025."""

XV6_ONE_ARGUMENT_SBRK: Final = tuple(
    _prototype(12, "void *sbrk(int n)") if row.name == "sbrk" else row for row in XV6
)
"""xv6-riscv until 2024: whether sbrk is lazy is the kernel's business; ``pause`` was called sleep."""

SBRK_EAGER: Final = 1


@dataclass(frozen=True, slots=True)
class Contract:
    """What a call of this name promises, in either ABI: the result when it succeeds, and when it is -1."""

    returns: str
    errors: str


CONTRACTS: Final[Mapping[str, Contract]] = {
    "write": Contract(
        "n",
        "fd is not open for writing; n < 0; and, with what came before written: buf cannot be read; nobody"
        " reads the pipe any more; killed while waiting; the file was cut short before the offset, is as long"
        " as a file can be, or no block is free",
    ),
    "read": Contract(
        "bytes read, 0 at the end; a console read ends with its line",
        "fd is not open for reading; n < 0; buf cannot be written (the offset stays); killed while waiting",
    ),
    "close": Contract("0", "fd is not open"),
    "dup": Contract("the lowest free descriptor", "fd is not open; no descriptor is free"),
    "pipe": Contract("0", "fds cannot be written; no two descriptors, open files or no frame are free"),
    "fstat": Contract("0", "fd is not open, or a pipe or a nameless console; st cannot be written"),
    "open": Contract(
        "the lowest free descriptor",
        "no such path; a directory that is not opened for reading only; a directory and O_CREATE;"
        " no descriptor, open file, inode or block is free",
    ),
    "mkdir": Contract("0", "the name exists; its directory does not; no inode or block is free"),
    "mknod": Contract("0", "the name exists; its directory does not; no inode or block is free"),
    "chdir": Contract("0", "no such path, or no directory; no inode is free"),
    "link": Contract(
        "0", "old does not exist or is a directory; new exists; its directory does not; no block is free"
    ),
    "unlink": Contract("0", "no such name; . or ..; a directory that is not empty"),
    "fork": Contract("the child's pid; 0 in the child", "no process slot; no frame"),
    "exit": Contract("does not return; all 32 bits reach the parent", "never"),
    "wait": Contract(
        "the pid of a child that ended, its status stored unless status is 0",
        "no children; killed while waiting; status cannot be written (the child can still be waited for)",
    ),
    "exec": Contract(
        "argc, in the new image",
        "no such file; no valid ELF; a bad argument pointer; too many or too long arguments; no frame"
        " (the old image stays)",
    ),
    "kill": Contract("0; the process dies when it next leaves the kernel", "no such process"),
    "getpid": Contract("the pid", "never"),
    "yield": Contract("0", "never"),
    "sleep": Contract("0, when that many ticks of 0.1 s have come", "ticks < 0 (NexOS); killed meanwhile"),
    "pause": Contract("0, when that many ticks of 0.1 s have come", "killed meanwhile"),
    "uptime": Contract("ticks since boot", "never"),
    "sbrk": Contract(
        "the old break",
        "the new break would lie below 0 (NexOS), or above the lowest mmap area or the trapframe;"
        " eager growth, and no frame",
    ),
    "mmap": Contract(
        "the address of the area; its pages appear when they are touched",
        "addr is not 0; len is 0; flags without MAP_PRIVATE or with unknown bits; PROT_EXEC or no right;"
        " a file with PROT_WRITE or not open for reading; off is not page aligned; 16 areas; no gap",
    ),
    "munmap": Contract("0", "not page aligned; not inside one area; a hole would be left in its middle"),
    "memstat": Contract("0", "st cannot be written"),
    "getprocs": Contract("how many were stored, at most max", "table cannot be written"),
    "ai_call": Contract("the answer's length", "always: there is no AI service"),
    "ai_submit": Contract("a request's id", "always: there is no AI service"),
    "ai_wait": Contract("the answer's length", "always: there is no AI service"),
    "ai_query": Contract("0", "always: there is no AI service"),
}
"""By name. A bad pointer or path string anywhere is an error too, and never more than that."""

O_RDONLY: Final = 0x000
O_WRONLY: Final = 0x001
O_RDWR: Final = 0x002
O_CREATE: Final = 0x200
O_TRUNC: Final = 0x400

PROT_READ: Final = 1
PROT_WRITE: Final = 2
PROT_EXEC: Final = 4
MAP_PRIVATE: Final = 1
MAP_ANON: Final = 2

T_DIR: Final = 1
T_FILE: Final = 2
T_DEVICE: Final = 3

STAT: Final = "<iIhhxxxxQ"  # dev, ino, type, nlink, (4 bytes of padding,) size
DIRENT: Final = "<H14s"  # inum (0: deleted), name without NUL when 14 long
MEMSTAT: Final = "<iiii"  # free_pages, used_pages, proc_mapped_pages, proc_sz_pages
PROCINFO: Final = "<iiiiii16s"  # pid, ppid, state, mapped_pages, size_pages, (reserved,) name

PROC_STATES: Final = ("unused", "sleeping", "runnable", "running", "zombie")
"""``procinfo.state`` indexes this tuple."""
