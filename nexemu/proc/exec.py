"""``exec``: a program file becomes the image of a process.

The new image is built completely before the old one is let go, so that a failure at any step
leaves the process as it was.

xv6: kernel/exec.c. ABI.md section 2.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nexemu.errors import BadExecutable
from nexemu.mem.grow import uvmalloc
from nexemu.mem.usercopy import copyout
from nexemu.mem.vm import AddressSpace
from nexemu.param import MAXARG, USERSTACK
from nexemu.personality import Personality
from nexemu.proc.counters import counter_reads
from nexemu.proc.elf import Segment, read_executable
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_W, PTE_X, VA, pgroundup, pte2pa

ALIGN = ~15
POINTER_BYTES = 8


class Image(NamedTuple):
    """A loaded program: where it starts, its stack pointer (the argv array, when there are
    arguments), and how many arguments it got."""

    entry: VA
    sp: VA
    argc: int


def load(space: AddressSpace, content: memoryview, argv: Sequence[bytes], personality: Personality) -> Image:
    """Fill the fresh ``space`` with the ELF file ``content``, a guard page, a stack and ``argv``. Raises
    BadExecutable or OutOfMemory: the caller frees the space."""
    fill_gaps = personality.segments_fill_gaps
    program = read_executable(content, apart=not fill_gaps)
    for segment in program.segments:
        start = pgroundup(space.size) if fill_gaps else segment.vaddr
        _load_segment(space, segment, content, start)
    top = _add_stack(space)
    space.code_changed()
    space.forbidden = tuple(_counter_reads(space))
    sp = _push_arguments(space, top, argv)
    return Image(program.entry, sp, len(argv))


def _load_segment(space: AddressSpace, segment: Segment, content: memoryview, start: VA) -> None:
    """Map the pages from ``start`` to the end of ``segment`` and copy its bytes; what the file does not
    fill stays zero."""
    uvmalloc(space, start, segment.end, segment.flags)
    space.size = max(space.size, segment.end)
    for skip in range(0, segment.filesz, PGSIZE):
        frame = pte2pa(space.table.pte(segment.vaddr + skip))
        at = segment.offset + skip
        space.frames.ram.write(frame, content[at : at + min(PGSIZE, segment.filesz - skip)])


def _add_stack(space: AddressSpace) -> VA:
    """A guard page without U, then the stack. Returns the stack's top, which is the initial break."""
    guard = pgroundup(space.size)
    top = guard + (1 + USERSTACK) * PGSIZE
    if top > space.limit:
        raise BadExecutable("no room for a stack below the trapframe")
    uvmalloc(space, guard, guard + PGSIZE, PTE_R | PTE_W)
    uvmalloc(space, guard + PGSIZE, top, PTE_R | PTE_W | PTE_U)
    space.size = top
    return top


def _counter_reads(space: AddressSpace) -> Iterator[VA]:
    """Where the loaded text reads performance counters. The pages are searched and not the file, of which
    many segments may show the same part; those that follow each other together, for an instruction may
    lie across two."""
    code, start = bytearray(), 0
    for leaf in space.table.leaves(0, space.size):
        if leaf.pte & PTE_X:
            if leaf.va != start + len(code):
                yield from counter_reads(code, start)
                code, start = bytearray(), leaf.va
            code += space.frames.ram.read(pte2pa(leaf.pte), PGSIZE)
    yield from counter_reads(code, start)


def _push_arguments(space: AddressSpace, top: VA, argv: Sequence[bytes]) -> VA:
    """The strings from ``top`` down, each aligned to 16, then the array of their addresses with its
    final 0. Returns the array's address. All of it must fit the stack page."""
    if len(argv) >= MAXARG:
        raise BadExecutable(f"{len(argv)} arguments: at most {MAXARG - 1}")
    sp, bottom = top, top - USERSTACK * PGSIZE
    pointers = []
    for argument in argv:
        sp = (sp - len(argument) - 1) & ALIGN
        pointers.append(sp)
        if sp < bottom:
            raise BadExecutable("the arguments do not fit the stack page")
        copyout(space, sp, argument + b"\0")
    array = b"".join(pointer.to_bytes(POINTER_BYTES, "little") for pointer in [*pointers, 0])
    sp = (sp - len(array)) & ALIGN
    if sp < bottom:
        raise BadExecutable("the arguments do not fit the stack page")
    copyout(space, sp, array)
    return sp
