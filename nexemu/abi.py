"""The system calls of the user ABIs: ONE table each of number, name and C prototype.

Everything else about a call follows from its row: how the gate reads its arguments (an
``int`` is the low 32 bits, sign-extended; a pointer or a ``uint64`` is all 64), the assembly
stubs ``guest/usys.S`` and the guest's header. The behaviour of each call is in ABI.md and
XV6_ABI.md; calls of one name behave alike in both, but for what personality.py lists.

Structures are given as :mod:`struct` formats, little-endian, with their padding.
"""

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
