"""The kernel's own handler: lazy allocation and copy-on-write, as the lab asks for them.

Each function is in the file of its name; this one puts them together.
"""

from typing import Final

from nexemu.mem.fault import prepare_copy, vmfault
from nexemu.mem.grow import sbrk
from nexemu.mem.uvmcopy import uvmcopy
from nexemu.mem.vm import AddressSpace, Handler
from nexemu.memlayout import TRAPFRAME


def release(space: AddressSpace) -> None:
    """One holder fewer for each frame below the trapframe, mmap areas included."""
    space.table.unmap(0, TRAPFRAME, space.frames.kfree_leaves)


BUILTIN: Final = Handler(
    sbrk=sbrk,
    page_fault=vmfault,
    prepare_copy=prepare_copy,
    fork_copy=uvmcopy,
    release=release,
)
