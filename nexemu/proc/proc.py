"""A process: one address space, one set of registers, open files, and a place among its kin.

A system call that must wait is a suspended generator in ``kernel``: the process's kernel stack.
It yields the channel it waits on, and the process sleeps there until somebody wakes that channel.

xv6: struct proc in kernel/proc.h
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, TypeAlias

from nexemu.fs.file import File
from nexemu.fs.inode import Inode
from nexemu.machine.registers import Context
from nexemu.mem.vm import AddressSpace
from nexemu.param import NOFILE

KernelStack: TypeAlias = Generator[object, None, int]
"""A system call under way: yields channels, returns the value for a0."""


class State(IntEnum):
    """Indexes abi.PROC_STATES."""

    SLEEPING = 1
    RUNNABLE = 2
    RUNNING = 3
    ZOMBIE = 4


SLEEPING: Final = State.SLEEPING
RUNNABLE: Final = State.RUNNABLE
RUNNING: Final = State.RUNNING
ZOMBIE: Final = State.ZOMBIE
"""The same by plain names: looking a member up in its class costs 50 ns, several times a trap."""


@dataclass(slots=True, eq=False)
class Proc:
    """``chan``: what a sleeper waits on. ``leader``: init itself started it, so it is a shell or stands in
    for one. ``job``: which of the shell's lines started it, for Ctrl-C. ``call``: name and arguments of
    the system call under way.
    ``saw_end``: its last read met the end of what is typed at the console."""

    pid: int
    name: str
    space: AddressSpace
    context: Context
    cwd: Inode
    parent: "Proc | None" = None
    files: list[File | None] = field(default_factory=lambda: [None] * NOFILE)
    state: State = RUNNABLE
    chan: object = None
    kernel: KernelStack | None = None
    call: tuple[str, tuple[int, ...]] = ("", ())
    killed: bool = False
    xstate: int = 0
    saw_end: bool = False
    leader: bool = False
    job: int = 0

    def __repr__(self) -> str:
        return f"<pid {self.pid} {self.name} {self.state.name.lower()}>"

    def sleep(self, chan: object) -> None:
        """Wait for a wakeup on ``chan``."""
        self.state = SLEEPING
        self.chan = chan
