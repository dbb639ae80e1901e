"""Machines for tests: memory without a CPU, and whole kernels with their input typed beforehand."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

from nexemu.events import PageFault
from nexemu.kernel import Kernel, Options
from nexemu.mem.builtin import BUILTIN
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.phys import PhysicalMemory
from nexemu.mem.vm import AddressSpace, Paging
from nexemu.memlayout import KERNEL_PAGES
from nexemu.observe.recorder import Recorder
from nexemu.param import QUANTUM
from nexemu.personality import NEXOS
from nexemu.proc.proc import State
from nexemu.riscv import PGSIZE, pte2pa
from nexemu.sched import POLICIES, Setup

ROOT = Path(__file__).parent.parent
SWITCHES = [(lazy, cow) for lazy in (False, True) for cow in (False, True)]
SWITCH_IDS = [f"lazy={lazy:d},cow={cow:d}" for lazy, cow in SWITCHES]
MIB = 1 << 20
DATA = 0x1_0000


# ---- memory without a CPU ---------------------------------------------------------------------


class Memory:
    """``pages`` frames to hand out, and the address spaces that live in them."""

    def __init__(self, lazy=True, cow=True, pages=1024, handler=BUILTIN):
        self.ram = PhysicalMemory((KERNEL_PAGES + pages) * PGSIZE)
        self.frames = FrameAllocator(self.ram)
        self.events = Recorder()
        self.paging = Paging(handler, lazy, cow, self.events)
        self.trampoline = self.frames.kalloc_zeroed()
        self.spaces = []

    @property
    def free(self):
        return self.frames.free_frames

    def space(self):
        return self.adopt(AddressSpace.create(self.frames, self.paging, self.trampoline))

    def adopt(self, space):
        """Let the audit know of ``space``."""
        self.spaces.append(space)
        space.pid = 2 + len(self.spaces)
        return space

    def grow(self, space, n):
        return self.paging.handler.sbrk(space, n, not self.paging.lazy)

    def fork(self, parent):
        """As fork() uses it: a child that could not be made leaves nothing behind."""
        child = AddressSpace.create(self.frames, self.paging, self.trampoline)
        try:
            self.paging.handler.fork_copy(parent, child)
        except Exception:
            child.free()
            raise
        return self.adopt(child)

    def end(self, space):
        self.spaces.remove(space)
        space.free()

    def audit(self):
        holders = [self.trampoline]
        for space in self.spaces:
            holders += space.table.table_frames()
            holders += [pte2pa(leaf.pte) for leaf in space.table.leaves()]
        self.frames.audit(holders)

    def close(self):
        """All books balance, and everything comes back."""
        self.audit()
        for space in list(self.spaces):
            self.end(space)
        self.audit()
        assert self.frames.used_frames == 1, "frames beside the trampoline were lost"


def resident(space):
    """The user pages of ``space`` that are mapped below the break."""
    return space.mapped_pages()


def pte(space, va):
    return space.table.pte(va)


def peek(space, va, count):
    """``count`` bytes of one page, as they lie in RAM: touches nothing."""
    return space.frames.ram.read(pte2pa(pte(space, va)) + va % PGSIZE, count)


def count_of(space, va):
    """How many hold the frame at ``va``."""
    return space.frames.refcount(pte2pa(pte(space, va)))


# ---- whole machines ---------------------------------------------------------------------------


class Typed:
    """A keyboard on which everything was typed beforehand: what a file on standard input is."""

    on_demand = True

    def __init__(self, text=b""):
        self._lines = text.splitlines(keepends=True)

    def poll(self):
        return b""

    def wait(self):
        return self._lines.pop(0) if self._lines else None


@dataclass
class Run:
    """A machine, and what has come out of it."""

    kernel: Kernel
    screen: bytearray
    log: list
    events: Recorder
    status: int | None = None

    @property
    def text(self):
        return self.screen.decode()

    def values(self):
        """The console's ``name=number`` lines."""
        pairs = [line.split("=") for line in self.text.splitlines() if line.count("=") == 1]
        return {name: int(value, 0) for name, value in pairs}

    def faults(self, by="user"):
        """The kinds of the page faults that were handled, in order."""
        return [event.kind for event in self.events.of(PageFault) if event.by == by]


@dataclass(repr=False)
class Machine:
    """How to build machines: where their guests are."""

    init: bytes
    folders: list[Path] = field(default_factory=list)

    def build(
        self,
        *,
        typed=b"",
        keyboard=None,
        memory=16 * MIB,
        emit=None,
        folders=(),
        sched="round-robin",
        quantum=QUANTUM,
        **options,
    ):
        """A machine that is not booted yet."""
        events, screen, log = Recorder(), bytearray(), []

        def listen(event):
            events(event)
            if emit is not None:
                emit(event)

        kernel = Kernel(
            Options(memory=memory, personality=NEXOS, **options),
            POLICIES[sched](Setup(quantum=quantum)),
            keyboard or Typed(typed),
            screen.extend,
            log.append,
            listen,
        )
        for folder in (*self.folders, *folders):
            kernel.load_files(folder)
        return Run(kernel, screen, log, events)

    def run(self, *command, check=True, **how):
        """Run ``command``, or a shell on ``typed``; afterwards everything must be given back."""
        run = self.build(**how)
        argv = [b"init", b"--", *[word.encode() for word in command]] if command else []
        run.kernel.boot(argv, self.init)
        finish(run, check)
        return run

    def shell(self, text, check=True, **how):
        """Let a shell run ``text``, as ``sh -c`` does."""
        run = self.build(**how)
        line = text.encode()
        pieces = [line[at : at + 127] for at in range(0, len(line), 127)] or [b""]
        run.kernel.boot([b"init", b"-c", *pieces], self.init)
        finish(run, check)
        return run


def finish(run, check=True):
    """Run a booted machine to its end and compare what it holds with what it held."""
    kernel = run.kernel
    free = kernel.frames.free_frames
    kernel.audit()
    run.status = kernel.run()
    kernel.audit()
    for proc in kernel.procs:  # where the shell left at the end of its input, nobody waits for it any more
        if proc.state is State.ZOMBIE and proc.leader:
            kernel.procs.reap(proc)
    init = kernel.procs.init
    if init.state is not State.ZOMBIE:
        kernel.procs.exit(init, 0)
    if check:
        assert [proc.name for proc in kernel.procs] == ["init"], "processes are left"
        assert kernel.frames.free_frames == free, "frames are left"
        assert kernel.files.in_use == 0, "open files are left"
        assert kernel.fs.in_use == 0, "inodes are left in use"


# ---- ELF files --------------------------------------------------------------------------------

PT_LOAD = 1
EHDR_FIELDS = (
    *("ident", "type", "machine", "version", "entry", "phoff", "shoff", "flags", "ehsize"),
    *("phentsize", "phnum", "shentsize", "shnum", "shstrndx"),
)


@dataclass
class Segment:
    """A program header and its bytes. ``offset`` and ``filesz`` are right unless they are given."""

    vaddr: int
    data: bytes = b""
    memsz: int | None = None
    flags: int = 7  # X 1, W 2, R 4
    kind: int = PT_LOAD
    offset: int | None = None
    filesz: int | None = None


def elf_file(*segments, entry=0, **header):
    """An ELF64 executable for RISC-V; ``header`` replaces fields of its first 64 bytes by name."""
    fields = dict.fromkeys(EHDR_FIELDS, 0)
    fields |= {"ident": b"\x7fELF\x02\x01\x01", "type": 2, "machine": 243, "version": 1, "entry": entry}
    fields |= {"phoff": 64, "ehsize": 64, "phentsize": 56, "phnum": len(segments), **header}
    at, table, body = PGSIZE, b"", b""
    for segment in segments:
        filesz = len(segment.data) if segment.filesz is None else segment.filesz
        memsz = len(segment.data) if segment.memsz is None else segment.memsz
        offset = at if segment.offset is None else segment.offset
        row = (segment.kind, segment.flags, offset, segment.vaddr, segment.vaddr, filesz, memsz, PGSIZE)
        table += struct.pack("<IIQQQQQQ", *row)
        padded = segment.data + bytes(-len(segment.data) % PGSIZE)
        body, at = body + padded, at + len(padded)
    head = struct.pack("<16sHHIQQQIHHHHHH", *fields.values())
    return (head + table).ljust(PGSIZE, b"\0") + body


def run_code(code, *, check=True, size=PGSIZE, **how):
    """Run machine code as init, the only process: text at 0, ``size`` bytes of data at 0x10000."""
    run = Machine(b"").build(**how)
    run.kernel.boot([], elf_file(Segment(0, code, flags=5), Segment(DATA, memsz=size, flags=6)))
    finish(run, check)
    return run
