"""A process whose pages are of every kind, side by side, and the addresses that a call may be given.

::

    0x0000 text   0x1000 data   0x2000 text   0x3000 data   0x4000 guard   0x5000 stack
    heap: private, lazy, private, COW, COW, COW of which it is the last owner, lazy, private
    the break is 100 bytes below the end of the last page
    mmap areas below the trapframe: one page read-only; then three: touched, untouched, touched
"""

from gate import poke
from support import Segment, elf_file

from nexemu.abi import MAP_ANON, MAP_PRIVATE, O_RDWR, PROT_READ, PROT_WRITE, SBRK_EAGER
from nexemu.memlayout import KERNBASE, TRAMPOLINE, TRAPFRAME
from nexemu.riscv import MAXVA, PGSIZE, U64, Access

SBRK_LAZY = 2
TEXT, DATA, MORE_TEXT, MORE_DATA, GUARD, STACK, HEAP = (page * PGSIZE for page in range(7))
LAZY, PRIVATE, COW, MORE_COW, LAST_OWNER, MORE_LAZY, LAST = (HEAP + page * PGSIZE for page in range(1, 8))
HEAP_END = HEAP + 8 * PGSIZE
BREAK = HEAP_END - 100
AREA = TRAPFRAME - 3 * PGSIZE
READ_ONLY_AREA = AREA - PGSIZE
ANON = MAP_PRIVATE | MAP_ANON

PATH, NULL_ARRAY, ARRAY, BUFFER = (MORE_DATA + offset for offset in (0x100, 0x200, 0x300, 0x400))
"""Places on a private page for the arguments that are not being tried."""

FILE_BYTES = bytes(range(1, 65))
TYPED = b"a line that was typed before, which is sixty-four bytes long...\n"
PIPED = bytes(range(128, 192))
CHILD_STATUS = 747

VICTIM = (
    Segment(TEXT, b"T" * PGSIZE, flags=5),
    Segment(DATA, b"D" * PGSIZE, flags=6),
    Segment(MORE_TEXT, b"\0" + b"t" * (PGSIZE - 1), flags=5),
    Segment(MORE_DATA, b"d" * PGSIZE, flags=6),
)
OTHER = Segment(0, b"another program", flags=5)
FILES = {b"/f": FILE_BYTES, b"/u": b"to be unlinked", b"/d": None, b"/x": elf_file(OTHER)}

OPEN_FILE, PIPE_READER, PIPE_WRITER = 3, 4, 5

KINDS = {
    # what is mapped, and the page that comes next
    "null": lambda size: 0,
    "below 0x1000": lambda size: 0x33,
    "text": lambda size: MORE_TEXT + 64,
    "into text": lambda size: MORE_TEXT - 2,
    "text into data": lambda size: DATA - 2,
    "data": lambda size: DATA + 8,
    "guard": lambda size: GUARD + 8,
    "into guard": lambda size: GUARD - 2,
    "guard into stack": lambda size: STACK - 2,
    "stack": lambda size: STACK + 8,
    "stack into heap": lambda size: HEAP - 2,
    "lazy": lambda size: LAZY,
    "middle of lazy": lambda size: LAZY + 2000,
    "into lazy": lambda size: LAZY - 2,
    "lazy into private": lambda size: PRIVATE - 2,
    "last owner into lazy": lambda size: MORE_LAZY - 2,
    "lazy into the last page": lambda size: LAST - 2,
    "COW": lambda size: COW + 8,
    "into COW": lambda size: COW - 2,
    "COW into COW": lambda size: MORE_COW - 2,
    "COW into last owner": lambda size: LAST_OWNER - 2,
    "last owner": lambda size: LAST_OWNER + 8,
    # the break
    "last byte": lambda size: BREAK - 1,
    "beyond the break, in its page": lambda size: BREAK + 8,
    "up to the end of the last page": lambda size: HEAP_END - size,
    "last byte of the last page": lambda size: HEAP_END - 1,
    "unmapped": lambda size: HEAP_END,
    "unmapped, a megabyte up": lambda size: HEAP_END + (1 << 20),
    # mmap areas
    "read-only area": lambda size: READ_ONLY_AREA + 8,
    "read-only area into writable": lambda size: AREA - 2,
    "area": lambda size: AREA + 8,
    "area into untouched": lambda size: AREA + PGSIZE - 2,
    "untouched area": lambda size: AREA + PGSIZE,
    "untouched area into touched": lambda size: AREA + 2 * PGSIZE - 2,
    "start of an area": lambda size: AREA,
    "area into trapframe": lambda size: TRAPFRAME - 2,
    # the kernel's
    "kernel RAM": lambda size: KERNBASE,
    "into kernel RAM": lambda size: KERNBASE - 2,
    "frames in RAM": lambda size: KERNBASE + (1 << 20),
    "trapframe": lambda size: TRAPFRAME,
    "trapframe into trampoline": lambda size: TRAMPOLINE - 2,
    "trampoline": lambda size: TRAMPOLINE,
    # beyond
    "MAXVA-1": lambda size: MAXVA - 1,
    "up to MAXVA": lambda size: MAXVA - size,
    "MAXVA": lambda size: MAXVA,
    "good address + MAXVA": lambda size: MAXVA + DATA + 8,
    "good address + 2^32": lambda size: (1 << 32) + DATA + 8,
    "good address + 2^39": lambda size: (1 << 39) + DATA + 8,
    "sign bit": lambda size: 1 << 63,
    "good address + sign bit": lambda size: (1 << 63) + DATA + 8,
    "good address + Sv39's upper half": lambda size: (U64 ^ ((1 << 38) - 1)) + DATA + 8,
    "all ones": lambda size: U64,
    "wraps into text": lambda size: U64 - 1,
}
"""Addresses for an access of ``size`` bytes (at least 3)."""

ALIGNED = {
    "last byte, break aligned": lambda size: HEAP_END - 1,
    "up to the break, aligned": lambda size: HEAP_END - size,
    "at the break, aligned": lambda size: HEAP_END,
}
"""The same with the break at the end of the last page."""

TOUCHED = (HEAP, PRIVATE, COW, MORE_COW, LAST_OWNER, LAST)
SHARED = (COW, MORE_COW)


class World:
    """The process and its sibling, which shares what fork shares. ``size``: the break;
    ``types``: a line waits at the console."""

    def __init__(self, gate, lazy, size=BREAK, types=True):
        self.gate = gate
        self.proc = proc = gate.spawn(*VICTIM)
        self.space = space = proc.space
        assert gate.open(proc, b"/f", O_RDWR) == OPEN_FILE
        self.file = proc.files[OPEN_FILE]
        ends = gate.files.pipe(gate.machine.pipe_frames.take())
        proc.files[PIPE_READER], proc.files[PIPE_WRITER] = ends
        self.pipe = ends[1].pipe
        ends[1].write(PIPED)
        if types:
            for key in TYPED:
                gate.machine.console.interrupt(key)
        self._map(lazy, size)
        self.sibling = gate.fork(proc)
        for page in (DATA, MORE_DATA, STACK, HEAP, PRIVATE, LAST):
            space.translate(page, Access.WRITE)
        self.sibling.space.translate(LAST_OWNER, Access.WRITE)
        poke(space, PATH, b"/x\0")
        poke(space, NULL_ARRAY, bytes(8))

    def _map(self, lazy, size):
        gate, proc, space = self.gate, self.proc, self.space
        kind = () if gate.personality.name == "nexos" else (SBRK_LAZY if lazy else SBRK_EAGER,)
        assert gate.call(proc, "sbrk", size - HEAP, *kind) == HEAP
        if "mmap" in gate.numbers:
            both = PROT_READ | PROT_WRITE
            assert gate.call(proc, "mmap", 0, 3 * PGSIZE, both, ANON, -1, 0) == AREA
            assert gate.call(proc, "mmap", 0, PGSIZE, PROT_READ, ANON, -1, 0) == READ_ONLY_AREA
            space.translate(READ_ONLY_AREA, Access.READ)
            for page in (AREA, AREA + 2 * PGSIZE):
                space.translate(page, Access.WRITE)
                poke(space, page, b"a" * PGSIZE)
        for page in TOUCHED:
            space.translate(page, Access.WRITE)
            poke(space, page, b"h" * PGSIZE)

    def zombie(self):
        """A child that has exited."""
        child = self.gate.spawn(OTHER, name="child")
        child.parent = self.proc
        self.gate.procs.exit(child, CHILD_STATUS)
        return child
