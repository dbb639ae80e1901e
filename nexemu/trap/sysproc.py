"""The system calls of processes and time.

xv6: kernel/sysproc.c. ABI.md sections 1 and 3.
"""

import struct
from collections.abc import Mapping
from typing import Final

from nexemu import abi
from nexemu.errors import BadCall, OutOfMemory
from nexemu.mem.usercopy import copyout
from nexemu.param import CYCLES_PER_TICK
from nexemu.proc.proc import KernelStack, Proc
from nexemu.riscv import PGSIZE, VA, pgroundup
from nexemu.trap.handler import Handler
from nexemu.trap.machine import Machine
from nexemu.trap.sysfile import stop_if_killed


def sys_fork(machine: Machine, proc: Proc) -> int:
    """A child that is a copy of the caller: its pid here, 0 there."""
    return machine.procs.fork(proc).pid


def sys_exit(machine: Machine, proc: Proc, status: int) -> int:
    """End. All 32 bits of ``status`` reach the parent."""
    machine.procs.exit(proc, status)
    return 0


def sys_wait(machine: Machine, proc: Proc, status: VA) -> KernelStack:
    """Wait until a child ends, store its status unless ``status`` is 0; its pid."""
    zombie = machine.procs.zombie_child(proc)
    while zombie is None:
        stop_if_killed(proc)
        yield proc
        zombie = machine.procs.zombie_child(proc)
    if status:  # if this fails, the zombie can still be waited for
        _store_status(proc, status, zombie)
    machine.procs.reap(zombie)
    return zombie.pid


def _store_status(proc: Proc, status: VA, zombie: Proc) -> None:
    """The store may need a frame, and the zombie may hold the last ones: then its pages go first."""
    data = struct.pack("<i", zombie.xstate)
    try:
        copyout(proc.space, status, data)
    except OutOfMemory:
        zombie.space.paging.handler.release(zombie.space)
        copyout(proc.space, status, data)


def sys_kill(machine: Machine, proc: Proc, pid: int) -> int:
    """Mark a process so that it dies when it next leaves the kernel."""
    target = machine.procs.find(pid)
    if target is None:
        raise BadCall(f"kill: no process {pid}")
    machine.procs.kill(target)
    return 0


def sys_getpid(machine: Machine, proc: Proc) -> int:
    """The caller's pid."""
    return proc.pid


def sys_yield(machine: Machine, proc: Proc) -> KernelStack:
    """Let the others run first."""
    yield None
    return 0


def sys_sleep(machine: Machine, proc: Proc, ticks: int) -> KernelStack:
    """Wait until ``ticks`` timer ticks have come."""
    if ticks < 0 and not machine.personality.sleep_below_zero_returns:
        raise BadCall(f"sleep: {ticks} ticks")
    until = machine.clock.ticks + ticks
    while machine.clock.ticks < until:
        machine.procs.wake_at(proc, until * CYCLES_PER_TICK)
        yield machine.clock
        stop_if_killed(proc)
    return 0


def sys_uptime(machine: Machine, proc: Proc) -> int:
    """Timer ticks since boot."""
    return machine.clock.ticks


def sys_getprocs(machine: Machine, proc: Proc, table: VA, most: int) -> int:
    """Store a struct procinfo for each process, ``most`` of them at the most; how many."""
    rows = b"".join(_procinfo(each) for each in list(machine.procs)[: max(0, most)])
    copyout(proc.space, table, rows)
    return len(rows) // struct.calcsize(abi.PROCINFO)


def _procinfo(proc: Proc) -> bytes:
    parent = proc.parent.pid if proc.parent is not None else 0
    pages = pgroundup(proc.space.size) // PGSIZE
    mapped = proc.space.mapped_pages()
    return struct.pack(abi.PROCINFO, proc.pid, parent, proc.state, mapped, pages, 0, proc.name.encode()[:15])


def sys_ai(machine: Machine, proc: Proc, *arguments: int) -> int:
    """NexOS's AI service does not run here."""
    raise BadCall("no AI service")


CALLS: Final[Mapping[str, Handler]] = {
    "fork": sys_fork,
    "exit": sys_exit,
    "wait": sys_wait,
    "kill": sys_kill,
    "getpid": sys_getpid,
    "yield": sys_yield,
    "sleep": sys_sleep,
    "pause": sys_sleep,
    "uptime": sys_uptime,
    "getprocs": sys_getprocs,
    "ai_call": sys_ai,
    "ai_submit": sys_ai,
    "ai_wait": sys_ai,
    "ai_query": sys_ai,
}
