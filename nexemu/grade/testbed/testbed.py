"""A testbed: a machine whose programs do what a check says, one instruction at a time.

The kernel, its system calls, its page tables and its hart are the real ones; only the loop that
would choose who runs is missing, since the check chooses. Everything a check compares is read from
the machine's own state.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from nexemu.events import BadAccess, Emit, Event
from nexemu.grade.primitive import Function
from nexemu.grade.testbed.expect import Killed, Lost
from nexemu.grade.testbed.journal import Journal
from nexemu.grade.testbed.program import elf
from nexemu.grade.testbed.puppet import Puppet
from nexemu.kernel import Kernel, Options
from nexemu.mem.vm import Handler
from nexemu.memlayout import KERNEL_PAGES
from nexemu.param import NEXOS_LIMITS
from nexemu.personality import NEXOS
from nexemu.policy import Scheduler
from nexemu.riscv import PA, PGSIZE
from nexemu.trap.keys import NoKeys

MakeHandler = Callable[[Emit], Handler]
"""Makes the handler of one machine; the emitter is told what the handler did."""

FRAMES: Final = 1024
"""Frames that can be handed out, unless a check wants fewer or more."""


class Testbed:
    """A machine with ``frames`` frames to hand out and room for ``nproc`` processes. What happens on it is
    kept in ``journal``."""

    __test__ = False  # pytest: this is no test case

    def __init__(
        self,
        make_handler: MakeHandler,
        journal: Journal,
        frames: int = FRAMES,
        nproc: int = NEXOS_LIMITS.nproc,
    ) -> None:
        self.journal = journal
        self.deaths: dict[int, BadAccess] = {}
        personality = replace(NEXOS, limits=replace(NEXOS_LIMITS, nproc=nproc))
        memory = (KERNEL_PAGES + frames) * PGSIZE
        handler = self.journal.watch(make_handler(self._listen))
        options = Options(memory=memory, personality=personality, handler=handler)
        self.kernel = Kernel(options, _Nobody(), NoKeys(), _ignore, _ignore, self._listen)
        self._program = elf()

    def _listen(self, event: Event) -> None:
        if isinstance(event, BadAccess):
            self.deaths[event.pid] = event

    def start(self) -> Puppet:
        """A new process, freshly loaded; no handler has had anything to do with it."""
        return Puppet(self, self.kernel.boot((), self._program))

    def puppet(self, pid: object) -> Puppet:
        """The process that a fork has returned, which must exist."""
        proc = self.kernel.procs.find(pid) if isinstance(pid, int) else None
        if proc is None:
            raise Lost("fork succeeds", f"{pid}" if isinstance(pid, Killed) else f"it returns {pid}")
        return Puppet(self, proc)

    def reap(self, puppet: Puppet) -> None:
        """Let go of a dead process that has no parent to do it."""
        self.kernel.procs.reap(puppet.proc)

    @property
    def free(self) -> int:
        """Frames that nobody holds."""
        return self.kernel.frames.free_frames

    def count(self, frame: PA) -> int:
        """How many hold ``frame``."""
        return self.kernel.frames.refcount(frame)

    def keep_only(self, frames: int) -> None:
        """Take frames until only so many are free; nobody gives them back."""
        while self.free > frames:
            self.kernel.frames.kalloc()

    def fail_allocation(self, number: int | None) -> None:
        """Let the ``number``-th allocation from now on fail; None: let none fail."""
        self.kernel.frames.fail_at = number

    def calls(self, function: Function) -> int:
        """How often the handler's ``function`` was asked."""
        return self.journal.calls[function]

    def audit(self) -> None:
        """Every count must equal the holders that exist; a KernelPanic says which does not."""
        self.kernel.audit()


class _Nobody(Scheduler):
    """Chooses nobody: the check does."""

    def ready(self, pid: int) -> None:
        """Everybody is always at hand."""

    def choose(self) -> int | None:
        return None

    def forget(self, pid: int) -> None:
        """Nobody was remembered."""

    def waiting(self) -> int:
        return 0


def _ignore(_said: object) -> None:
    """Neither the console nor the kernel's log is evidence."""
