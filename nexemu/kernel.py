"""The kernel: owns every part of one machine, wires them together, and runs the loop.

The loop is that of any kernel: choose a process, let it run until it traps, serve the trap; when
nobody can run, let time or the keyboard move on. It is deterministic: with the same programs and
the same input, every event happens at the same virtual time.

xv6: main() in kernel/main.c and scheduler() in kernel/proc.c
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nexemu.errors import GuestError, OperatorError
from nexemu.events import Emit, Switch
from nexemu.fs.console import CONSOLE, Console, Key
from nexemu.fs.file_table import FileTable
from nexemu.fs.image import load_tree
from nexemu.fs.ramfs import RamFs
from nexemu.machine.hart import Hart, Trap
from nexemu.mem.builtin import BUILTIN
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.phys import PhysicalMemory
from nexemu.mem.vm import Handler, Paging
from nexemu.param import QUANTUM, RAM_BYTES
from nexemu.personality import NEXOS, Personality
from nexemu.policy import Scheduler
from nexemu.proc.clock import Clock
from nexemu.proc.exec import load
from nexemu.proc.proc import Proc, State
from nexemu.proc.table import ProcTable
from nexemu.riscv import Cause
from nexemu.trap.audit import audit
from nexemu.trap.machine import Machine
from nexemu.trap.pipeframes import PipeFrames
from nexemu.trap.syscall import call_table, resume
from nexemu.trap.usertrap import die_if_killed, usertrap


class Keyboard(Protocol):
    """Where typed bytes come from. ``on_demand``: the bytes wait as long as we like (a file, a pipe), so
    they are asked for when a program wants them, and never otherwise."""

    on_demand: bool

    def poll(self) -> bytes | None:
        """What was typed since the last call, None when no more will come; never waits."""

    def wait(self) -> bytes | None:
        """The next typed bytes, None when no more will come."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a machine is built. ``memory`` is in bytes, ``quantum`` in instructions. ``audit``: check all
    books after every trap."""

    lazy: bool = True
    cow: bool = True
    memory: int = RAM_BYTES
    personality: Personality = NEXOS
    audit: bool = False
    quantum: int = QUANTUM
    handler: Handler = BUILTIN


class Kernel:
    """One machine. ``output`` receives what the guest writes to the console, ``log`` what the kernel has
    to say to the person at the host, ``emit`` every event."""

    def __init__(
        self,
        options: Options,
        scheduler: Scheduler,
        keyboard: Keyboard,
        output: Callable[[bytes], None],
        log: Callable[[str], None],
        emit: Emit | None = None,
    ) -> None:
        self.options = options
        self.scheduler = scheduler
        self.keyboard = keyboard
        self.log = log
        self.emit = emit
        self.console = Console(output, self._on_key, echo=not keyboard.on_demand)
        self.machine = machine = self._build()
        self.frames, self.hart, self.clock = machine.frames, machine.hart, machine.clock
        self.fs, self.files, self.procs = machine.fs, machine.files, machine.procs
        self._running = 0  # the pid that had the hart last
        self._input_ended = False

    def _build(self) -> Machine:
        """Make the parts, from RAM upward."""
        options, personality, limits = self.options, self.options.personality, self.options.personality.limits
        ram = PhysicalMemory(options.memory)
        frames = FrameAllocator(ram)
        hart = Hart(ram)
        fs = RamFs(
            limits.ninode, limits.disk_bytes, limits.file_bytes, limits.disk_inodes, limits.block_bytes
        )
        files = FileTable(fs, {CONSOLE: self.console}, limits.nfile, personality.console_has_no_inode)
        paging = Paging(options.handler, options.lazy or personality.always_lazy, options.cow, self.emit)
        return Machine(
            frames=frames,
            hart=hart,
            fs=fs,
            files=files,
            console=self.console,
            procs=ProcTable(frames, paging, hart, self.scheduler, fs, files, limits, self.emit),
            pipe_frames=PipeFrames(frames),
            clock=Clock(),
            personality=personality,
            calls=call_table(personality.calls),
            log=self.log,
            emit=self.emit,
        )

    def load_files(self, folder: Path) -> None:
        """Copy the tree below the host's ``folder`` into the file system; what is there already is replaced.
        Raises OperatorError when there is no such folder."""
        for warning in load_tree(self.fs, folder):
            self.log(warning)

    def boot(self, argv: Sequence[bytes] | None = None, init: bytes | None = None) -> Proc:
        """Make the first process: of the image's ``/init``, as its kernel would start it; or of the ELF file
        ``init`` with ``argv``, and the console as its descriptors 0, 1 and 2. Raises OperatorError."""
        personality = self.options.personality
        arguments = personality.init_argument if argv is None else argv
        space = self.procs.new_space()
        try:
            content = self._file(b"/init") if init is None else memoryview(init)
            image = load(space, content, arguments, personality)
        except GuestError as error:
            raise OperatorError(f"cannot boot from init: {error}") from error
        proc = self.procs.create("init", space, self.fs.idup(self.fs.root))
        if init is not None or personality.init_gets_console:
            console = self.files.console()
            proc.files[:3] = [console, self.files.dup(console), self.files.dup(console)]
        proc.context.pc = image.entry
        for register, value in ((2, image.sp), (10, image.argc), (11, image.sp if arguments else 0)):
            self.hart.write_register(proc.context, register, value)
        self.procs.make_runnable(proc)
        return proc

    def _file(self, path: bytes) -> memoryview:
        inode = self.fs.namei(path, self.fs.root)
        return inode.readi(0, inode.size)

    def run(self) -> int:
        """Run until init ends; its exit status. Returns -1 when every process waits for another for ever."""
        init = self.procs.init
        assert init is not None, "boot first"
        while init.state is not State.ZOMBIE:
            self._take_keys()
            pid = self.scheduler.choose()
            proc = None if pid is None else self.procs.find(pid)
            if proc is not None:
                self._run_slice(proc)
            elif not self._idle():
                self.log("every process waits for another one; the machine halts")
                return -1
        return init.xstate

    def _run_slice(self, proc: Proc) -> None:
        """Let ``proc`` run until it waits, ends, or has used its quantum while others are ready."""
        self._switch_to(proc)
        end = self.clock.cycles + self.options.quantum
        if proc.kernel is not None:
            resume(self.machine, proc)
        while proc.state is State.RUNNING and not die_if_killed(self.machine, proc):
            budget = self._budget(end)
            trap = self.hart.run(proc.space, proc.context, budget)
            self._count_instructions(trap, budget)
            usertrap(self.machine, proc, trap)
            self.procs.wake_due(self.clock.cycles)
            if self.options.audit:
                self.audit()
            if self.clock.cycles >= end and proc.state is State.RUNNING:
                self.procs.make_runnable(proc)
            elif trap.cause == Cause.TIMER:
                self._take_keys()

    def _switch_to(self, proc: Proc) -> None:
        if proc.pid != self._running and self.emit is not None:
            self.emit(Switch(self.clock.cycles, self._running, proc.pid))
        self._running = proc.pid
        proc.state = State.RUNNING

    def _budget(self, end: int) -> int | None:
        """How many instructions may run before the kernel must look again; None when nobody else waits
        for the hart or for a moment, since counting instructions makes them five times slower."""
        wake = self.procs.next_wake()
        if wake is None and not self.scheduler.waiting():
            return None
        until = end if wake is None else min(end, wake)
        return max(1, until - self.clock.cycles)

    def _count_instructions(self, trap: Trap, budget: int | None) -> None:
        if trap.cause == Cause.TIMER and budget is not None:
            self.clock.advance(budget)

    def _idle(self) -> bool:
        """Nobody can run: jump to the next wake-up, or wait for the keyboard. False when neither can help."""
        wake = self.procs.next_wake()
        if wake is not None:
            self.clock.jump(wake)
            self.procs.wake_due(wake)
            return True
        if self._input_ended or (self.keyboard.on_demand and not self._console_reader()):
            return False
        self._type(self.keyboard.wait())
        return True

    def _console_reader(self) -> bool:
        return any(proc.chan is self.console and proc.state is State.SLEEPING for proc in self.procs)

    def _take_keys(self) -> None:
        if self.keyboard.on_demand:
            while not self._input_ended and self._console_reader():
                self._type(self.keyboard.wait())
        elif not self._input_ended:
            self._type(self.keyboard.poll())

    def _type(self, keys: bytes | None) -> None:
        if keys is None:
            self._input_ended = True
            self.console.hangup()
            self.procs.wakeup(self.console)
            return
        for byte in keys:
            if self.console.interrupt(byte):
                self.procs.wakeup(self.console)

    def _on_key(self, key: Key) -> None:
        if key is Key.LIST:
            self.log(self.procs.listing())
            return
        foreground = self.procs.foreground()
        for proc in foreground:
            self.procs.kill(proc)
        if not foreground:
            self.console.empty_line()
            self.procs.wakeup(self.console)

    def audit(self) -> None:
        """Panic unless the books balance; see :mod:`nexemu.trap.audit`."""
        audit(self.machine)
