"""What processes do to memory and to each other, on plain dicts: ABI.md sections 3 to 7.

A page is its bytes, its right, and a token for the frame that it lies in; pages that share a frame
share its token. A call that waits is a generator, resumed in the order in which waiting
processes were woken.
"""

from collections import deque
from dataclasses import dataclass, field
from itertools import count

from nexemu.memlayout import TRAPFRAME
from nexemu.param import MAXVMA, NOFILE, PIPESIZE
from nexemu.riscv import MAXVA, PGMASK, PGSIZE, pgroundup

SLOTS = 14  # of 16, two are the workers'
NFILE = 64
REGION = 21  # a last-level table maps 2 ** 21 bytes
OWN, COW, TEXT, GUARD, READ_ONLY = "own", "cow", "text", "guard", "read-only"
WRITABLE = {OWN, COW}


class Died(Exception):
    """The process touched what it must not."""


@dataclass
class Page:
    frame: int
    data: bytearray
    right: str


@dataclass(eq=False)
class Pipe:
    data: bytes = b""
    readers: int = 1
    writers: int = 1


@dataclass(frozen=True)
class End:
    pipe: Pipe
    writes: bool


CONSOLE = "console"


@dataclass(eq=False)
class Process:
    """``waits_on``: None while it waits for an order. ``tables``: the 2 MiB regions that have a table."""

    pid: int
    parent: int
    size: int = 0
    pages: dict = field(default_factory=dict)
    areas: list = field(default_factory=list)  # (start, length, writable), from the highest down
    tables: set = field(default_factory=lambda: {TRAPFRAME >> REGION})
    fds: list = field(default_factory=lambda: [CONSOLE] * 3 + [None] * (NOFILE - 3))
    call: object = None
    waits_on: object = None
    result: int = 0
    zombie: bool = False
    status: int = 0
    killed: bool = False

    @property
    def limit(self):
        return self.areas[-1][0] if self.areas else TRAPFRAME

    def area_at(self, va):
        return next((area for area in self.areas if area[0] <= va < area[0] + pgroundup(area[1])), None)


class Model:
    """``text``: the agent's text pages by address; its guard page and stack follow them."""

    def __init__(self, lazy, cow, text, init):
        self.lazy, self.cow, self.text = lazy, cow, text
        self.frame = count()
        self.procs = {}
        self.init = init
        self.woken = deque()
        self.next_pid = init + 1
        self.base = max(text) + 3 * PGSIZE
        self.enter_image(self.add(Process(init, 0)))

    def add(self, process):
        self.procs[process.pid] = process
        return process

    def enter_image(self, process):
        process.pages = {va: Page(next(self.frame), bytearray(data), TEXT) for va, data in self.text.items()}
        process.pages[self.base - 2 * PGSIZE] = self.zeros(GUARD)
        process.pages[self.stack] = self.zeros(OWN)
        process.size, process.areas = self.base, []
        process.tables = {0, TRAPFRAME >> REGION}

    @property
    def stack(self):
        return self.base - PGSIZE

    def zeros(self, right):
        return Page(next(self.frame), bytearray(PGSIZE), right)

    def frames_in_use(self):
        """The trampoline; trapframe, root, tables and pages of each process, zombies included; pipes."""
        frames = {page.frame for process in self.procs.values() for page in process.pages.values()}
        pipes = {end.pipe for process in self.procs.values() for end in process.fds if isinstance(end, End)}
        tables = sum(2 + len(p.tables) + len({table >> 9 for table in p.tables}) for p in self.procs.values())
        return 1 + len(frames) + len(pipes) + tables

    def owners(self, frame):
        return sum(page.frame == frame for process in self.procs.values() for page in process.pages.values())

    # ---- touching memory ----------------------------------------------------------------------

    def touch(self, process, va, to_write, by_kernel=False):
        """The page at ``va``, usable. Raises Died."""
        start = va & ~PGMASK
        page = process.pages.get(start) if va < MAXVA else None
        if page is None:
            page = self.appear(process, va, start, to_write, by_kernel)
        if page.right == GUARD or (to_write and page.right not in WRITABLE):
            raise Died
        if to_write and page.right == COW:
            if self.owners(page.frame) > 1:
                page.frame = next(self.frame)
            page.right = OWN
        return page

    def appear(self, process, va, start, to_write, by_kernel):
        area = process.area_at(va)
        if va < MAXVA and self.lazy and start < process.size:
            right = OWN
        elif area is None or by_kernel or (to_write and not area[2]):
            raise Died
        else:
            right = OWN if area[2] else READ_ONLY
        process.tables.add(start >> REGION)
        process.pages[start] = self.zeros(right)
        return process.pages[start]

    def is_usable(self, process, va, to_write):
        """What :meth:`touch` would say, without touching."""
        start, area = va & ~PGMASK, process.area_at(va)
        page = process.pages.get(start)
        if va >= MAXVA:
            return False
        if page is not None:
            return page.right != GUARD and (not to_write or page.right in WRITABLE)
        return (self.lazy and start < process.size) or (area is not None and (area[2] or not to_write))

    def load(self, process, size, va):
        return int.from_bytes(self.copy_in(process, va, size, by_kernel=False), "little")

    def store(self, process, size, va, value):
        """Both pages are looked at before anything is stored."""
        for touched in {va: 0, va + size - 1 & ~PGMASK: 0} if (va & PGMASK) + size > PGSIZE else [va]:
            self.touch(process, touched, to_write=True)
        self.copy_out(process, va, value.to_bytes(8, "little")[:size], by_kernel=False)
        return 0

    def copy_in(self, process, va, length, by_kernel=True):
        return b"".join(self.pieces(process, va, length, by_kernel))

    def pieces(self, process, va, length, by_kernel=True):
        end = va + length
        while va < end:
            page = self.touch(process, va, to_write=False, by_kernel=by_kernel)
            stop = min(end, (va | PGMASK) + 1)
            yield bytes(page.data[va & PGMASK : (va & PGMASK) + stop - va])
            va = stop

    def copy_out(self, process, va, data, by_kernel=True):
        while data:
            page = self.touch(process, va, to_write=True, by_kernel=by_kernel)
            at = va & PGMASK
            piece = data[: PGSIZE - at]
            page.data[at : at + len(piece)] = piece
            va, data = va + len(piece), data[len(piece) :]

    # ---- an order and what follows ------------------------------------------------------------

    def serve(self, process, action):
        """``action()`` returns a result, raises Died, or is a call that may wait. Then those who were woken
        go on."""
        try:
            answer = action()
        except Died:
            self.end(process, -1)
        else:
            if hasattr(answer, "send"):
                process.call = answer
                self.go_on(process)
            elif not process.zombie:
                self.answered(process, answer)
        self.settle()

    def settle(self):
        while self.woken:
            process = self.woken.popleft()
            if process.call is not None:
                self.go_on(process)
            elif process.killed and not process.zombie:
                self.end(process, -1)

    def go_on(self, process):
        try:
            process.waits_on = next(process.call)
        except StopIteration as done:
            self.answered(process, done.value)

    def answered(self, process, result):
        process.call, process.waits_on, process.result = None, None, result
        if process.killed:
            self.end(process, -1)
        else:
            self.touch(process, self.stack, to_write=True)  # the agent stores to its stack

    def wake(self, channel):
        for process in self.procs.values():
            if process.waits_on is channel and channel is not None:
                process.waits_on = None
                self.woken.append(process)

    def end(self, process, status):
        process.call, process.waits_on = None, None
        for fd in range(NOFILE):
            self.close(process, fd)
        for child in self.procs.values():
            if child.parent == process.pid:
                child.parent = self.init
                self.wake(self.procs[self.init])
        process.zombie, process.status = True, status
        self.wake(self.procs[process.parent])

    # ---- the calls ----------------------------------------------------------------------------

    def sbrk(self, process, n):
        old, new = process.size, process.size + n
        if new < 0 or (n > 0 and new > process.limit):
            return -1
        process.size = new
        if n > 0 and not self.lazy:
            for va in range(pgroundup(old), new, PGSIZE):
                process.pages[va] = self.zeros(OWN)
                process.tables.add(va >> REGION)
        for va in [va for va in process.pages if pgroundup(new) <= va < pgroundup(old)]:
            del process.pages[va]
        return old

    def fork(self, process):
        if len(self.procs) >= SLOTS:
            return -1
        child = self.add(Process(self.next_pid, process.pid, process.size))
        self.next_pid += 1
        child.areas, child.fds = list(process.areas), list(process.fds)
        for end in child.fds:
            if isinstance(end, End):
                end.pipe.writers += end.writes
                end.pipe.readers += not end.writes
        below = pgroundup(process.size)
        if self.cow:
            child.tables |= {table for table in process.tables if table << REGION < below}
        for va, page in process.pages.items():
            child.tables.add(va >> REGION)
            if self.cow and va < below:
                page.right = COW if page.right in WRITABLE else page.right
                child.pages[va] = Page(page.frame, bytearray(page.data), page.right)
            else:
                child.pages[va] = Page(next(self.frame), bytearray(page.data), page.right)
        self.answered(process, child.pid)
        self.answered(child, 0)
        return child.pid

    def exec(self, process):
        self.enter_image(process)
        return 0

    def exit(self, process, status):
        self.end(process, status)

    def kill(self, process, pid):
        target = self.procs.get(pid)
        if target is None:
            return -1
        target.killed = True
        if target is not process and not target.zombie:
            target.waits_on = None
            if target not in self.woken:
                self.woken.append(target)
        return 0

    def wait(self, process, va):
        while True:
            children = [child for child in self.procs.values() if child.parent == process.pid]
            zombies = [child for child in children if child.zombie]
            if zombies:
                break
            if not children or process.killed:
                return -1
            yield process
        (zombie, *_) = zombies
        if va:
            try:
                self.copy_out(process, va, (zombie.status & 0xFFFF_FFFF).to_bytes(4, "little"))
            except Died:
                return -1
        del self.procs[zombie.pid]
        return zombie.pid

    def pipe(self, process, va):
        free = [fd for fd in range(NOFILE) if process.fds[fd] is None][:2]
        open_files = {end for each in self.procs.values() for end in each.fds if end is not None}
        if len(free) < 2 or len(open_files) + 2 > NFILE:
            return -1
        try:
            self.copy_out(process, va, b"".join(fd.to_bytes(4, "little") for fd in free))
        except Died:
            return -1
        pipe = Pipe()
        process.fds[free[0]], process.fds[free[1]] = End(pipe, writes=False), End(pipe, writes=True)
        return 0

    def close(self, process, fd):
        end = process.fds[fd] if 0 <= fd < NOFILE else None
        if end is None:
            return -1
        process.fds[fd] = None
        if isinstance(end, End):
            end.pipe.writers -= end.writes
            end.pipe.readers -= not end.writes
            self.wake(end.pipe)
        return 0

    def pipe_end(self, process, fd, writes):
        end = process.fds[fd] if 0 <= fd < NOFILE else None
        return end.pipe if isinstance(end, End) and end.writes == writes else None

    def read(self, process, fd, va, n):
        pipe = self.pipe_end(process, fd, writes=False)
        if pipe is None or n < 0:
            return -1
        while not pipe.data and pipe.writers:
            yield pipe
            if process.killed:
                return -1
        data, pipe.data = pipe.data[:n], pipe.data[n:]
        self.wake(pipe)
        for done in range(len(data)):
            try:
                self.copy_out(process, va + done, data[done : done + 1])
            except Died:
                pipe.data = data[done + 1 :] + pipe.data
                return -1
        return len(data)

    def write(self, process, fd, va, n):
        pipe = self.pipe_end(process, fd, writes=True)
        if pipe is None or n < 0:
            return -1
        done = 0
        while done < n:
            try:
                piece = next(self.pieces(process, va + done, n - done))
            except Died:
                return -1
            if not pipe.readers:
                return -1
            taken = piece[: PIPESIZE - len(pipe.data)]
            pipe.data += taken
            done += len(taken)
            if taken:
                self.wake(pipe)
            if len(taken) < len(piece):
                yield pipe
                if process.killed:
                    return -1
        return n

    def mmap(self, process, length, prot):
        if not 0 < prot <= 3 or not length or len(process.areas) == MAXVMA:
            return -1
        top, size = TRAPFRAME, pgroundup(length)
        for start, there, _ in process.areas:
            if top - (start + pgroundup(there)) >= size:
                break
            top = start
        if top - size < pgroundup(process.size):
            return -1
        process.areas = sorted([*process.areas, (top - size, length, prot > 1)], reverse=True)
        return top - size

    def munmap(self, process, va, length):
        area = process.area_at(va)
        if area is None or va & PGMASK or not length:
            return -1
        start, size, writable = area
        end, area_end = va + pgroundup(length), start + pgroundup(size)
        if end > area_end or (va > start and end < area_end):
            return -1
        process.areas.remove(area)
        if va > start:
            process.areas.append((start, va - start, writable))
        elif end < area_end:
            process.areas.append((end, size - (end - start), writable))
        process.areas.sort(reverse=True)
        for page in range(va, end, PGSIZE):
            process.pages.pop(page, None)
        return 0
