"""System calls: from the registers to a handler, and its answer back into a0.

The row in abi.py says how each argument is read; the handler does the rest. A GuestError becomes
-1 here, and only here. A handler that must wait is kept as the process's kernel stack and resumed
when its channel was woken.

xv6: kernel/syscall.c
"""

import operator
from collections.abc import Iterable, Mapping
from types import GeneratorType
from typing import Final

from nexemu import abi
from nexemu.errors import GuestError
from nexemu.events import Syscall
from nexemu.proc.proc import ZOMBIE, Proc
from nexemu.proc.table import A0
from nexemu.trap import sysexec, sysfile, sysmem, sysname, sysproc
from nexemu.trap.handler import Call, Handler
from nexemu.trap.machine import Machine

HANDLERS: Final[Mapping[str, Handler]] = {
    **sysproc.CALLS,
    **sysexec.CALLS,
    **sysfile.CALLS,
    **sysname.CALLS,
    **sysmem.CALLS,
}


def int32(register: int) -> int:
    """The low 32 bits of ``register``, sign-extended: how C passes an int."""
    return ((register & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000


def uint64(register: int) -> int:
    """``register`` as it is: how C passes a pointer or a uint64."""
    return register


def _call(prototype: abi.Prototype) -> Call:
    readers = tuple(int32 if param.is_int else uint64 for param in prototype.params)
    return Call(prototype.name, HANDLERS[prototype.name], readers)


def call_table(prototypes: Iterable[abi.Prototype]) -> Mapping[int, Call]:
    """What each number of an ABI means here."""
    return {prototype.number: _call(prototype) for prototype in prototypes}


def syscall(machine: Machine, proc: Proc) -> None:
    """Serve the ecall that ``proc`` made: a0 holds the answer, or the process sleeps, or it is gone."""
    registers = machine.hart.arguments()
    number = int32(registers[7])
    call = machine.calls.get(number)
    if call is None:
        machine.log(f"pid {proc.pid} {proc.name}: unknown system call {number}")
        proc.call = (f"unknown {number}", ())
        _finish(machine, proc, -1)
        return
    arguments = tuple(map(operator.call, call.readers, registers))
    proc.call = (call.name, arguments)
    try:
        answer = call.handler(machine, proc, *arguments)
    except GuestError:
        answer = -1
    if isinstance(answer, GeneratorType):
        proc.kernel = answer
        resume(machine, proc)
    elif proc.state is not ZOMBIE:
        assert isinstance(answer, int)
        _finish(machine, proc, answer)


def resume(machine: Machine, proc: Proc) -> None:
    """Go on with the system call that ``proc`` is in the middle of, until it waits again or is done."""
    assert proc.kernel is not None
    try:
        channel = next(proc.kernel)
    except StopIteration as done:
        answer = done.value
    except GuestError:
        answer = -1
    else:
        if channel is None:
            machine.procs.make_runnable(proc)
        else:
            proc.sleep(channel)
        return
    proc.kernel = None
    _finish(machine, proc, answer)


def _finish(machine: Machine, proc: Proc, answer: int) -> None:
    machine.hart.write_register(proc.context, A0, answer)
    if machine.emit is not None:
        name, arguments = proc.call
        machine.emit(Syscall(proc.pid, name, arguments, answer))
