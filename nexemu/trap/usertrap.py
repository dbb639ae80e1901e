"""The way into the kernel: why user code stopped, and what to do about it.

A process that cannot go on is killed here, with one line that a student can learn from; the
machine goes on.

xv6: usertrap() in kernel/trap.c
"""

from typing import Final

from nexemu.errors import GuestError
from nexemu.events import BadAccess
from nexemu.machine.hart import Trap
from nexemu.mem.usercopy import copyin
from nexemu.proc.proc import Proc
from nexemu.proc.table import KILLED
from nexemu.riscv import TIMER, USER_ECALL, Cause
from nexemu.trap.diagnose import diagnose
from nexemu.trap.machine import Machine
from nexemu.trap.syscall import syscall

RDTIME: Final = 0xC0102073
"""csrrs rd, time, zero, with rd = 0."""
RD_SHIFT: Final = 7
RD_MASK: Final = 31 << RD_SHIFT


def usertrap(machine: Machine, proc: Proc, trap: Trap) -> None:
    """Serve ``trap``. Afterwards ``proc`` runs on, waits, is marked as killed, or is a zombie."""
    if trap.cause == USER_ECALL:
        syscall(machine, proc)
    elif trap.cause != TIMER and not _rdtime(machine, proc, trap):
        _kill(machine, proc, trap)


def die_if_killed(machine: Machine, proc: Proc) -> bool:
    """On the way out of the kernel, into user code, a killed process ends instead; whether it did."""
    if proc.killed:
        machine.procs.exit(proc, KILLED)
    return proc.killed


def _rdtime(machine: Machine, proc: Proc, trap: Trap) -> bool:
    """User mode may read the time CSR; Unicorn traps it. Serve it and say whether it was that."""
    if trap.cause != Cause.ILLEGAL_INSTRUCTION:
        return False
    try:
        word = int.from_bytes(copyin(proc.space, trap.epc, 4), "little")
    except GuestError:
        return False
    if word & ~RD_MASK != RDTIME:
        return False
    register = (word & RD_MASK) >> RD_SHIFT
    if register:
        machine.hart.write_register(proc.context, register, machine.clock.cycles)
    proc.context.pc = trap.epc + 4
    return True


def _kill(machine: Machine, proc: Proc, trap: Trap) -> None:
    found = diagnose(proc, trap, lambda number: machine.hart.read_register(proc.context, number))
    machine.log(found.line(proc))
    if machine.emit is not None:
        machine.emit(BadAccess(proc.pid, proc.name, *found))
    machine.procs.kill(proc)
