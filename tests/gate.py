"""A machine whose gate is called directly: registers go in, a0 comes out, and no guest instruction runs.

So a system call is tried in a millisecond with any arguments, on a process whose pages are
arranged by hand, and everything that it should not touch can be compared with what it was.
"""

from support import Segment, Typed, elf_file

from nexemu.abi import O_RDWR, T_FILE
from nexemu.errors import BadFile
from nexemu.kernel import Kernel, Options
from nexemu.machine.hart import Trap
from nexemu.mem.grow import uvmalloc
from nexemu.memlayout import KERNEL_PAGES
from nexemu.observe.recorder import Recorder
from nexemu.personality import NEXOS
from nexemu.proc.proc import State
from nexemu.riscv import (
    PGSIZE,
    PTE_A,
    PTE_D,
    PTE_FLAGS,
    PTE_R,
    PTE_U,
    PTE_W,
    PTE_X,
    U64,
    Cause,
    pgroundup,
    pte2pa,
)
from nexemu.sched import POLICIES
from nexemu.trap.syscall import resume
from nexemu.trap.usertrap import die_if_killed, usertrap

A0 = 10
JUNK = 0x5A5A_5A5A_5A5A_5A5A
"""What lies in the argument registers that a call does not have."""
IDLE = elf_file(Segment(0, b"\x01\xa0", flags=5))
"""A program of one instruction, a jump to itself."""
HARDWARE = PTE_A | PTE_D
"""The PTE bits that an access may set without being a change."""


class Gate:
    """A booted machine with init as its only process. ``files``: what the file system holds, and holds again
    after :meth:`restore`."""

    def __init__(self, personality=NEXOS, pages=512, files=None, emit=None, **switches):
        self.screen, self.log = bytearray(), []
        self.events = Recorder()
        self.kernel = kernel = Kernel(
            Options(memory=(KERNEL_PAGES + pages) * PGSIZE, personality=personality, **switches),
            POLICIES["round-robin"](),
            Typed(),
            self.screen.extend,
            self.log.append,
            self.events if emit is None else emit,
        )
        self.machine, self.frames = kernel.machine, kernel.frames
        self.procs, self.fs, self.files = kernel.procs, kernel.fs, kernel.files
        self.numbers = {call.name: number for number, call in self.machine.calls.items()}
        self.machine.hart.arguments = lambda: self.arguments
        self.personality = personality
        self.contents = dict(files or {})
        kernel.boot([b"init"], IDLE)
        self.init = self.procs.init
        self._drain()
        self.init.state = State.RUNNING
        for path, content in self.contents.items():
            self.put(path, content)
        self.at_rest = self.holdings()
        self.is_restored = True

    # ---- files --------------------------------------------------------------------------------

    def put(self, path, content):
        """Let ``path`` be a file with these bytes, or a directory when they are None."""
        if content is None:
            self.fs.mkdir(path, self.fs.root)
            return
        inode = self.fs.create(path, T_FILE, self.fs.root)
        self.fs.truncate(inode)
        self.fs.writei(inode, 0, content)

    def content(self, path):
        inode = self.fs.namei(path, self.fs.root)
        return bytes(inode.readi(0, inode.size))

    def open(self, proc, path, mode=O_RDWR):
        """Open ``path`` for ``proc``, as the file system would; the descriptor."""
        fd = proc.files.index(None)
        proc.files[fd] = self.files.open(path, mode, self.fs.root)
        return fd

    # ---- processes ----------------------------------------------------------------------------

    def spawn(self, *segments, name="victim"):
        """A child of init with these segments as its image, a guard page, a stack, and the console as 0, 1
        and 2; it counts as running. As exec would make it, but without an ELF file to take apart."""
        self.is_restored = False
        space = self.procs.new_space()
        for segment in segments:
            bits = PTE_U | PTE_R | (PTE_W if segment.flags & 2 else 0) | (PTE_X if segment.flags & 1 else 0)
            uvmalloc(space, segment.vaddr, segment.vaddr + len(segment.data), bits)
            poke(space, segment.vaddr, segment.data)
        guard = pgroundup(max(segment.vaddr + len(segment.data) for segment in segments))
        uvmalloc(space, guard, guard + PGSIZE, PTE_R | PTE_W)
        space.size = guard + 2 * PGSIZE
        uvmalloc(space, guard + PGSIZE, space.size, PTE_R | PTE_W | PTE_U)
        proc = self.procs.create(name, space, self.fs.idup(self.fs.root))
        proc.parent = self.init
        console = self.files.console()
        proc.files[:3] = [console, self.files.dup(console), self.files.dup(console)]
        proc.state = State.RUNNING
        return proc

    def fork(self, proc):
        """A child of ``proc``, ready."""
        return self.procs.fork(proc)

    def call(self, proc, name, *arguments):
        """Let ``proc`` make the system call ``name``. Returns a0 as a signed number, None when there is no
        answer: the process waits, or has ended."""
        return self.ecall(proc, self.numbers[name], *arguments)

    def ecall(self, proc, number, *arguments):
        self.arguments = (
            [argument & U64 for argument in arguments] + [JUNK] * (7 - len(arguments)) + [number & U64]
        )
        usertrap(self.machine, proc, Trap(Cause.USER_ECALL, proc.context.pc))
        return self._answer(proc)

    def resume(self, proc):
        """Give a process that waited and was woken the hart again; a0, or None as above."""
        assert proc.state is State.RUNNABLE
        proc.state = State.RUNNING
        resume(self.machine, proc)
        if proc.kernel is None and die_if_killed(self.machine, proc):
            return None
        return self._answer(proc)

    def _answer(self, proc):
        if proc.state in (State.SLEEPING, State.ZOMBIE) or proc.kernel is not None:
            return None
        return signed(self.machine.hart.read_register(proc.context, A0))

    # ---- books --------------------------------------------------------------------------------

    def holdings(self):
        """What must be the same before and after."""
        return {
            "free frames": self.frames.free_frames,
            "open files": self.files.in_use,
            "inodes in use": self.fs.in_use,
            "bytes stored": self.fs.inodes.stored,
            "pipe frames": len(self.machine.pipe_frames.held),
            "processes": len(list(self.procs)),
        }

    def restore(self):
        """End every process but init, put the files back, and find all books balanced and complete."""
        self.end_processes()
        self._restore_files()
        assert self.holdings() == self.at_rest
        self.is_restored = True

    def end_processes(self):
        """End every process but init. Whatever they left of the files, everything else must be back."""
        self.is_restored = False
        self.kernel.audit()
        for proc in self.procs:
            if proc is not self.init and proc.state is not State.ZOMBIE:
                self.procs.exit(proc, 0)
        for proc in self.procs:
            if proc is not self.init:
                self.procs.reap(proc)
        self.init.killed = False
        self.init.state = State.RUNNING
        self._drain()
        while self.machine.console.pending:
            self.machine.console.read(1 << 12)
        self.screen.clear()
        self.log.clear()
        self.events.events.clear()
        assert self.holdings() | {"bytes stored": 0} == self.at_rest | {"bytes stored": 0}

    def _restore_files(self):
        root = self.fs.root
        for name in names(self.fs):
            if b"/" + name not in self.contents:
                self.fs.unlink(name, root)
        for path, content in self.contents.items():
            try:
                if content is not None and self.content(path) != content:
                    self.put(path, content)
            except BadFile:
                self.put(path, content)

    def _drain(self):
        while self.procs.scheduler.choose() is not None:
            pass


def names(fs):
    """What the root directory holds."""
    data = bytes(fs.root.readi(0, fs.root.size))
    slots = [(data[at : at + 2], data[at + 2 : at + 16]) for at in range(0, len(data), 16)]
    found = [name.rstrip(b"\0") for inum, name in slots if inum != b"\0\0"]
    return [name for name in found if name not in (b".", b"..")]


def signed(register):
    return register - (1 << 64) if register >> 63 else register


def view(space):
    """What ``space`` maps: the bytes of each page and its rights, by address."""
    ram = space.frames.ram
    return {leaf.va: (ram.read(pte2pa(leaf.pte), PGSIZE), rights(leaf.pte)) for leaf in space.table.leaves()}


def rights(pte):
    return pte & PTE_FLAGS & ~HARDWARE


def poke(space, va, data):
    """Put bytes into RAM where ``space`` maps them, whatever its rights; where it does not, nothing."""
    done = 0
    while done < len(data):
        at = va + done & U64
        piece = data[done : done + PGSIZE - at % PGSIZE]
        pte = space.table.pte(at)
        if pte:
            space.frames.ram.write(pte2pa(pte) + at % PGSIZE, piece)
        done += len(piece)
