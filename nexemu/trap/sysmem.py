"""The system calls of memory: sbrk, mmap, munmap, memstat.

ABI.md sections 4, 6 and 8
"""

import struct
from bisect import insort
from collections.abc import Mapping
from typing import Final

from nexemu import abi
from nexemu.errors import BadCall
from nexemu.fs.mapped import MappedFile
from nexemu.mem.area import Area, highest_gap
from nexemu.mem.usercopy import copyout
from nexemu.memlayout import TRAPFRAME
from nexemu.param import MAXVMA
from nexemu.proc.proc import Proc
from nexemu.riscv import PGMASK, PGSIZE, VA, pgroundup
from nexemu.trap.descriptors import open_file
from nexemu.trap.handler import Handler
from nexemu.trap.machine import Machine


def sys_sbrk(machine: Machine, proc: Proc, n: int, kind: int | None = None) -> int:
    """Move the break by ``n`` bytes; the old break. Growth is eager or lazy as ``kind`` says, or as the
    machine's switch does where the ABI has no such argument."""
    space = proc.space
    if space.size + n < 0 and machine.personality.shrink_below_zero_ignored:
        return space.size
    eager = not space.paging.lazy if kind is None else kind == abi.SBRK_EAGER
    return space.paging.handler.sbrk(space, n, eager)


def sys_mmap(
    machine: Machine, proc: Proc, addr: VA, length: int, prot: int, flags: int, fd: int, off: int
) -> VA:
    """Reserve an area of ``length`` bytes; its address. No page is mapped until it is touched."""
    space = proc.space
    writable = bool(prot & abi.PROT_WRITE)
    if addr or not length or off & PGMASK or prot & ~(abi.PROT_READ | abi.PROT_WRITE) or not prot:
        raise BadCall(f"mmap: addr {addr:#x}, length {length}, prot {prot}, offset {off}")
    if flags not in (abi.MAP_PRIVATE, abi.MAP_PRIVATE | abi.MAP_ANON):
        raise BadCall(f"mmap: flags {flags:#x}")
    if len(space.areas) == MAXVMA:
        raise BadCall(f"mmap: all {MAXVMA} areas are taken")
    backing = None
    if not flags & abi.MAP_ANON:
        if writable:
            raise BadCall("mmap: a file can be mapped for reading only")
        backing = MappedFile(machine.files, open_file(proc, fd))
    start = highest_gap(space.areas, pgroundup(length), pgroundup(space.size), TRAPFRAME)
    if start is None:
        raise BadCall(f"mmap: no gap of {length} bytes")
    if backing is not None:
        backing.hold()
    insort(space.areas, Area(start, length, prot, backing, off), key=_from_the_top)
    return start


def _from_the_top(area: Area) -> int:
    return -area.start


def sys_munmap(machine: Machine, proc: Proc, addr: VA, length: int) -> int:
    """Take the pages of ``addr`` and ``length`` off the front or the back of one area."""
    space = proc.space
    area = space.area_at(addr)
    end = addr + pgroundup(length)
    if area is None or addr & PGMASK or not length or end > area.end:
        raise BadCall(f"munmap: {addr:#x}+{length} is not the pages of one area")
    start_before = area.start
    if not area.cut(addr, end):
        raise BadCall(f"munmap: {addr:#x}+{length} would leave a hole in the area at {start_before:#x}")
    space.table.unmap(addr, end, space.frames.kfree_leaves)
    space.epoch += 1
    if area.length == 0:
        space.areas.remove(area)
        if area.backing is not None:
            area.backing.drop()
    return 0


def sys_memstat(machine: Machine, proc: Proc, st: VA) -> int:
    """Store struct memstat, counted before the store itself can map a page."""
    frames, space = machine.frames, proc.space
    pages = pgroundup(space.size) // PGSIZE
    data = struct.pack(abi.MEMSTAT, frames.free_frames, frames.used_frames, space.mapped_pages(), pages)
    copyout(space, st, data)
    return 0


CALLS: Final[Mapping[str, Handler]] = {
    "sbrk": sys_sbrk,
    "mmap": sys_mmap,
    "munmap": sys_munmap,
    "memstat": sys_memstat,
}
