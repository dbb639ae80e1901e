"""What each system call should answer and change: ABI.md and XV6_ABI.md as functions on plain values.

A function here is told the arguments as C would see them. It returns a0, or WAITS or ENDS, and
changes ``case``: the caller's memory, its descriptors, the files, what was written to the
console. A call that is not here is tried all the same, and held to what holds for every call.
"""

import struct
from dataclasses import dataclass, field

from matrix_memory import LAZY_RIGHTS, UserMemory
from matrix_world import (
    AREA,
    CHILD_STATUS,
    FILES,
    OPEN_FILE,
    PIPE_READER,
    PIPE_WRITER,
    PIPED,
    READ_ONLY_AREA,
    TYPED,
)

from nexemu import abi
from nexemu.memlayout import TRAPFRAME
from nexemu.param import MAXARG, MAXPATH, NOFILE, PIPESIZE
from nexemu.riscv import PGMASK, PGSIZE, pgroundup

WAITS, ENDS = "waits", "ends"
O_WRITE = abi.O_WRONLY | abi.O_RDWR


@dataclass
class Case:
    """One call, and what should be there after it. ``pids``: who exists. ``free``: frames before the call."""

    memory: UserMemory
    nexos: bool
    lazy: bool
    free: int
    memstat: bytes
    procinfo: list
    inum: int
    pids: dict
    zombie: int | None = None
    files: dict = field(default_factory=lambda: dict(FILES))
    screen: bytes = b""
    typed: bytes = TYPED
    piped: bytes = PIPED
    fds: dict = field(default_factory=lambda: dict(DESCRIPTORS))
    offset: int = 0
    areas: dict = field(default_factory=dict)
    executed: bool = False
    status: int | None = None

    def lowest(self, count=1):
        free = [fd for fd in range(NOFILE) if fd not in self.fds]
        return free[:count]

    def path(self, va):
        """The name at ``va``, with one slash in front unless it is empty; None when it cannot be read."""
        text = self.memory.string(va, MAXPATH)
        return b"/" + text.lstrip(b"/") if text else text


DESCRIPTORS = {0: "console", 1: "console", 2: "console"}
DESCRIPTORS |= {OPEN_FILE: "file", PIPE_READER: "reader", PIPE_WRITER: "writer"}
AREAS = {AREA: (3 * PGSIZE, True), READ_ONLY_AREA: (PGSIZE, False)}


# ---- reading and writing ----------------------------------------------------------------------


def write(case, fd, buf, n):
    kind = case.fds.get(fd)
    if kind in (None, "reader") or n < 0:
        return -1
    done = 0
    for piece in case.memory.pieces(buf, n):
        if kind == "writer":
            room = PIPESIZE - len(case.piped)
            case.piped += piece[:room]
            if len(piece) > room:
                return WAITS
        elif kind == "console":
            case.screen += piece
        else:
            old = case.files[b"/f"]
            case.files[b"/f"] = old[: case.offset] + piece + old[case.offset + len(piece) :]
            case.offset += len(piece)
        done += len(piece)
    return stream_result(case, kind, done, n)


def stream_result(case, kind, done, n):
    """Of n bytes, ``done`` went well: xv6's pipe and console tell, everything else is -1."""
    if done == n:
        return n
    return done if kind != "file" and not case.nexos else -1


def read(case, fd, buf, n):
    kind = case.fds.get(fd)
    if kind in (None, "writer") or n < 0:
        return -1
    if kind == "file":
        data = case.files[b"/f"][case.offset :][:n]
        done = case.memory.write(buf, data)
        case.offset += len(data) if done == len(data) else 0
    elif kind == "reader":
        data = case.piped[:n]
        done = case.memory.write(buf, data)
        case.piped = case.piped[min(done + 1, len(data)) :]  # byte by byte: the one that failed is lost
    else:
        data, case.typed = case.typed[:n], case.typed[n:]
        done = case.memory.write(buf, data)
    return stream_result(case, kind, done, len(data))


def close(case, fd):
    return 0 if case.fds.pop(fd, None) else -1


def dup(case, fd):
    if fd not in case.fds:
        return -1
    (new,) = case.lowest()
    case.fds[new] = case.fds[fd]
    return new


def pipe(case, fds):
    ends = case.lowest(2)
    if case.memory.write(fds, struct.pack("<ii", *ends)) < 8:
        return -1
    case.fds |= dict(zip(ends, ("reader", "writer"), strict=True))
    return 0


def fstat(case, fd, st):
    if case.fds.get(fd) != "file":
        return -1
    row = struct.pack(abi.STAT, 0, case.inum, abi.T_FILE, 1, len(case.files[b"/f"]))
    return 0 if case.memory.write(st, row) == len(row) else -1


# ---- names ------------------------------------------------------------------------------------


def open_(case, path, mode):
    name = case.path(path)
    if name is None:
        return -1
    (fd,) = case.lowest()
    if name in (b"", b"/"):  # the working directory and the root are one
        if mode != abi.O_RDONLY:
            return -1
    elif name != b"/f":
        return -1
    elif mode & abi.O_TRUNC:
        case.files[b"/f"] = b""
    case.fds[fd] = "opened"
    return fd


def chdir(case, path):
    return 0 if case.path(path) in (b"", b"/d") else -1


def mkdir(case, path):
    return make(case, path, None)


def mknod(case, path, major, minor):
    return make(case, path, b"")


def make(case, path, content):
    if case.path(path) != b"/n":
        return -1
    case.files[b"/n"] = content
    return 0


def unlink(case, path):
    if case.path(path) != b"/u":
        return -1
    del case.files[b"/u"]
    return 0


def link(case, old, new):
    if case.path(old) is None or case.path(new) is None:
        return -1
    if case.path(old) != b"/f" or case.path(new) != b"/n":
        return -1
    case.files[b"/n"] = case.files[b"/f"]
    return 0


# ---- processes --------------------------------------------------------------------------------


def wait(case, status):
    if case.zombie is None:
        return WAITS
    if status and case.memory.write(status, struct.pack("<i", CHILD_STATUS)) < 4:
        return -1
    case.pids.remove(case.zombie)
    return case.zombie


def exec_(case, path, argv):
    name = case.path(path)
    if name is None:
        return -1
    longest = MAXPATH if case.nexos else PGSIZE
    for argc in range(MAXARG):
        pointer = case.memory.read(argv + 8 * argc, 8)
        if len(pointer) < 8:
            return -1
        if not any(pointer):
            case.executed = name == b"/x"
            return argc if case.executed else -1
        if case.memory.string(int.from_bytes(pointer, "little"), longest) is None:
            return -1
    return -1


def exit_(case, status):
    case.status = status
    return ENDS


def kill(case, pid):
    return 0 if pid in case.pids else -1


def sleep(case, ticks):
    if ticks < 0:
        return -1 if case.nexos else 0
    return WAITS if ticks else 0


def getprocs(case, table, most):
    rows = b"".join(case.procinfo[: max(0, most)])
    size = struct.calcsize(abi.PROCINFO)
    return len(rows) // size if case.memory.write(table, rows) == len(rows) else -1


def no_service(case, *arguments):
    return -1


# ---- memory -----------------------------------------------------------------------------------


def sbrk(case, n, kind=None):
    memory, old = case.memory, case.memory.size
    eager = not case.lazy if kind is None else kind == abi.SBRK_EAGER
    new = old + n
    if new < 0:
        return -1 if case.nexos else old
    if new > (min(case.areas) if case.areas else TRAPFRAME):
        return -1
    fresh = range(pgroundup(old), new, PGSIZE)
    if n > 0 and eager:
        if len(fresh) > case.free // 2:  # nothing here asks for an amount that could just fit
            return -1
        for va in fresh:
            memory.pages[va] = bytearray(PGSIZE), LAZY_RIGHTS
            memory.appeared.add(va)
    for va in [va for va in memory.pages if pgroundup(new) <= va < pgroundup(old)]:
        del memory.pages[va]
    memory.size = new
    return old


def mmap(case, addr, length, prot, flags, fd, off):
    both = abi.PROT_READ | abi.PROT_WRITE
    if addr or not length or off % PGSIZE or not 0 < prot <= both:
        return -1
    if flags == abi.MAP_PRIVATE:
        if case.fds.get(fd) != "file" or prot & abi.PROT_WRITE:
            return -1
    elif flags != abi.MAP_PRIVATE | abi.MAP_ANON:
        return -1
    start = min(case.areas) - pgroundup(length)
    if start < pgroundup(case.memory.size):
        return -1
    case.areas[start] = length, bool(prot & abi.PROT_WRITE)
    return start


def munmap(case, addr, length):
    found = [start for start, (size, _) in case.areas.items() if start <= addr < start + pgroundup(size)]
    if not found or addr & PGMASK or not length:
        return -1
    (start,) = found
    size, writable = case.areas[start]
    end, area_end = addr + pgroundup(length), start + pgroundup(size)
    if end > area_end or (addr != start and end != area_end):
        return -1
    del case.areas[start]
    if addr == start and end < area_end:
        case.areas[end] = area_end - end, writable
    elif addr > start:
        case.areas[start] = addr - start, writable
    for va in range(addr, end, PGSIZE):
        case.memory.pages.pop(va, None)
    return 0


def memstat(case, st):
    return 0 if case.memory.write(st, case.memstat) == len(case.memstat) else -1


MODELS = {
    "write": write,
    "read": read,
    "close": close,
    "dup": dup,
    "pipe": pipe,
    "fstat": fstat,
    "open": open_,
    "chdir": chdir,
    "mkdir": mkdir,
    "mknod": mknod,
    "unlink": unlink,
    "link": link,
    "wait": wait,
    "exec": exec_,
    "exit": exit_,
    "kill": kill,
    "sleep": sleep,
    "pause": sleep,
    "getprocs": getprocs,
    "sbrk": sbrk,
    "mmap": mmap,
    "munmap": munmap,
    "memstat": memstat,
    "ai_call": no_service,
    "ai_submit": no_service,
    "ai_wait": no_service,
    "ai_query": no_service,
}
