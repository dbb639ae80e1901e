"""The audit of a whole machine: every count equals the holders that exist.

Frames are held by page tables, the leaves in them, pipes, and the kernel for the trampoline; open
files by descriptors and mmap areas; inodes by open files and working directories. Run between two
traps, never inside one: then free and used frames are all the frames there are.
"""

from itertools import chain

from nexemu.fs.file import File
from nexemu.fs.mapped import MappedFile
from nexemu.proc.proc import ZOMBIE
from nexemu.riscv import PA, PTE_SWAP, PTE_V, pte2pa
from nexemu.trap.machine import Machine


def audit(machine: Machine) -> None:
    """Panic unless frames, open files and inodes are each held exactly as often as their count says."""
    machine.frames.audit(frame_holders(machine))
    machine.files.audit(file_holders(machine))
    if machine.pager is not None:
        machine.pager.swap.audit([*swapped_slots(machine), *machine.pager.slots_remembered()])
    alive = [proc for proc in machine.procs if proc.state is not ZOMBIE]
    machine.fs.audit([*(proc.cwd for proc in alive), *machine.files.inodes()])


def frame_holders(machine: Machine) -> list[PA]:
    """Every frame that somebody holds, as often as it is held. A zombie still holds its memory."""
    tables = [proc.space.table for proc in machine.procs]
    leaves = [pte2pa(leaf.pte) for table in tables for leaf in table.leaves()]
    own = [frame for table in tables for frame in table.table_frames()]
    return [machine.procs.trampoline, *machine.pipe_frames.held, *own, *leaves]


def swapped_slots(machine: Machine) -> list[int]:
    """The slot of every swapped-out PTE."""
    tables = [proc.space.table for proc in machine.procs]
    leaves = (leaf for table in tables for leaf in table.leaves(wanted=PTE_SWAP))
    return [leaf.pte >> 10 for leaf in leaves if not leaf.pte & PTE_V]


def file_holders(machine: Machine) -> list[File]:
    """Every open file that a descriptor or an mmap area refers to, as often as it is."""
    descriptors = [file for proc in machine.procs for file in proc.files if file is not None]
    areas = chain.from_iterable(proc.space.areas for proc in machine.procs)
    return descriptors + [area.backing.file for area in areas if isinstance(area.backing, MappedFile)]
