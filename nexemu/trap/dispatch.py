"""The dispatcher: chooses a process, lets it run, serves what it traps for, and chooses again.

The loop is that of any kernel; when nobody can run, time or the keyboard moves on. It is
deterministic: with the same programs and the same input, every event happens at the same virtual
time. System calls are served while the hart holds still in the middle of its run, and it goes on
from there as long as nobody else wants it; other traps bring it back here.

xv6: scheduler() in kernel/proc.c, and usertrapret()
"""

from functools import partial
from typing import Final

from nexemu.events import Switch
from nexemu.machine.hart import Trap
from nexemu.param import TRAP_CYCLES
from nexemu.policy import Scheduler
from nexemu.proc.proc import RUNNING, ZOMBIE, Proc
from nexemu.riscv import TIMER, USER_ECALL
from nexemu.trap.audit import audit
from nexemu.trap.keys import Keys
from nexemu.trap.machine import Machine
from nexemu.trap.syscall import resume, syscall
from nexemu.trap.usertrap import die_if_killed, usertrap

ENDLESS: Final = 1 << 60
"""A budget of instructions that is never used up."""


class Dispatcher:
    """Runs the processes of ``machine``, in the order of ``scheduler``. ``audits``: check all books after
    every trap. ``exact_time``: count all instructions."""

    __slots__ = ("_audits", "_exact_time", "_hart", "_keys", "_machine", "_procs", "_running", "_scheduler")

    def __init__(
        self, machine: Machine, scheduler: Scheduler, keys: Keys, audits: bool, exact_time: bool
    ) -> None:
        self._machine = machine
        self._hart, self._procs = machine.hart, machine.procs
        self._scheduler = scheduler
        self._keys = keys
        self._audits = audits
        self._exact_time = exact_time
        self._running = 0  # the pid that had the hart last

    def run(self, init: Proc) -> int:
        """Run until ``init`` ends; its exit status, or -1 when every process waits for another for ever."""
        while init.state is not ZOMBIE:
            self._keys.take()
            pid = self._scheduler.choose()
            proc = None if pid is None else self._procs.find(pid)
            if proc is not None:
                self.run_slice(proc)
                if proc.state is ZOMBIE and proc.saw_end and proc.leader:
                    return proc.xstate  # a shell left at the end of the input; its like would do so for ever
            elif not self._idle():
                self._machine.log("every process waits for another one; the machine halts")
                return -1
        return init.xstate

    def _idle(self) -> bool:
        """Nobody can run: jump to the next wake-up, or wait for the keyboard. False when neither can help."""
        wake = self._procs.next_wake()
        if wake is None:
            return self._keys.wait()
        self._machine.clock.jump(wake)
        self._procs.wake_due(wake)
        return True

    def run_slice(self, proc: Proc) -> None:
        """Let ``proc`` run until it waits or ends, its turn is over, or somebody more urgent is ready."""
        self._switch_to(proc)
        quantum = self._scheduler.quantum(proc.pid)
        end = None if quantum is None else self._machine.clock.cycles + quantum
        if proc.kernel is not None:
            waiting = self._scheduler.waiting()
            resume(self._machine, proc)
            self._leave(proc, end, waiting)  # it may have woken others
        serve = partial(self._serve_call, proc, end)
        while proc.state is RUNNING and not die_if_killed(self._machine, proc):
            trap = self._hart.run(proc.space, proc.context, self._budget(end), serve)
            if trap.cause != USER_ECALL:
                self._serve_trap(proc, end, trap)

    def _switch_to(self, proc: Proc) -> None:
        if proc.pid != self._running and self._machine.emit is not None:
            self._machine.emit(Switch(self._machine.clock.cycles, self._running, proc.pid))
        self._running = proc.pid
        proc.state = RUNNING

    def _budget(self, end: int | None) -> int | None:
        """How many instructions may run before the kernel must look again; None when nobody else waits
        for the hart or for a moment, since counting instructions makes them five times slower."""
        wake = self._procs.next_wake()
        alone = wake is None and not self._scheduler.waiting()
        moments = [moment for moment in (wake, None if alone else end) if moment is not None]
        if moments:
            return max(1, min(moments) - self._machine.clock.cycles)
        return ENDLESS if self._exact_time else None

    def _serve_trap(self, proc: Proc, end: int | None, trap: Trap) -> None:
        waiting = self._enter(proc)
        usertrap(self._machine, proc, trap)
        self._leave(proc, end, waiting)
        if trap.cause == TIMER and proc.state is RUNNING:
            self._keys.take()

    def _serve_call(self, proc: Proc, end: int | None) -> bool:
        """``proc`` made a system call. Returns whether it has the hart to itself, as before."""
        space, waiting = proc.space, self._enter(proc)
        syscall(self._machine, proc)
        self._leave(proc, end, waiting)
        return (
            proc.state is RUNNING
            and not proc.killed
            and proc.space is space
            and not self._scheduler.waiting()
            and self._procs.next_wake() is None
        )

    def _enter(self, proc: Proc) -> int:
        """On the way into the kernel, time has passed: an instruction a cycle where they were counted, and
        the way itself. Returns how many wait for the hart."""
        cycles = self._hart.executed + TRAP_CYCLES
        self._machine.clock.advance(cycles)
        self._scheduler.ran(proc.pid, cycles)
        return self._scheduler.waiting()

    def _leave(self, proc: Proc, end: int | None, waited: int) -> None:
        """On the way out, see what has become of the others, of whom ``waited`` were ready on the way in: is
        the turn of ``proc`` over?"""
        now = self._machine.clock.cycles
        self._procs.wake_due(now)
        if self._audits:
            audit(self._machine)
        if proc.state is RUNNING and (self._is_over(end, now) or self._is_preempted(proc, waited)):
            self._procs.make_runnable(proc)

    def _is_over(self, end: int | None, now: int) -> bool:
        return end is not None and now >= end

    def _is_preempted(self, proc: Proc, waited: int) -> bool:
        return self._scheduler.waiting() > waited and self._scheduler.preempts(proc.pid)
