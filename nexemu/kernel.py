"""The kernel: owns every part of one machine, wires them together, and runs the loop.

The loop is that of any kernel: choose a process, let it run until it traps, serve the trap; when
nobody can run, let time or the keyboard move on. It is deterministic: with the same programs and
the same input, every event happens at the same virtual time.

xv6: main() in kernel/main.c and scheduler() in kernel/proc.c
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nexemu.errors import GuestError, OperatorError
from nexemu.events import Emit, Switch
from nexemu.fs.console import CONSOLE, Console, Key
from nexemu.fs.file_table import FileTable
from nexemu.fs.image import load_tree
from nexemu.fs.ramfs import RamFs
from nexemu.machine.hart import Hart
from nexemu.machine.recorder import RecordingHart
from nexemu.mem.builtin import BUILTIN
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.pager import Pager
from nexemu.mem.phys import PhysicalMemory
from nexemu.mem.swap import SwapArea
from nexemu.mem.vm import AddressSpace, Handler, Paging
from nexemu.param import RAM_BYTES, TRAP_CYCLES
from nexemu.personality import NEXOS, Personality
from nexemu.policy import Evictor, Scheduler
from nexemu.proc.clock import Clock
from nexemu.proc.exec import load
from nexemu.proc.proc import RUNNING, ZOMBIE, Proc
from nexemu.proc.table import ProcTable
from nexemu.proc.turns import TimedScheduler
from nexemu.riscv import TIMER
from nexemu.trap.audit import audit
from nexemu.trap.keys import Keyboard, Keys
from nexemu.trap.machine import Machine
from nexemu.trap.pipeframes import PipeFrames
from nexemu.trap.syscall import call_table, resume
from nexemu.trap.usertrap import die_if_killed, usertrap

ENDLESS: Final = 1 << 60
"""A budget of instructions that is never used up."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a machine is built. ``memory`` and ``swap``, the size of the swap area, are in bytes; ``evictor``
    chooses what goes there. ``audit``: check all books after every trap. ``exact_time``: count all
    instructions, also where nobody waits for the hart; it runs at a fifth of its speed then. ``record`` is
    told of every page that is used."""

    lazy: bool = True
    cow: bool = True
    memory: int = RAM_BYTES
    personality: Personality = NEXOS
    audit: bool = False
    handler: Handler = BUILTIN
    swap: int = 0
    evictor: Evictor | None = None
    exact_time: bool = False
    record: Callable[[int], None] | None = None


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
        self._clock = Clock()
        self.scheduler = scheduler if emit is None else TimedScheduler(scheduler, self._clock, emit)
        self.log = log
        self.emit = emit
        self.console = Console(output, self._on_key, echo=not keyboard.on_demand)
        self.machine = machine = self._build()
        self.keys = Keys(machine, keyboard)
        self.frames, self.hart, self.clock = machine.frames, machine.hart, machine.clock
        self.fs, self.files, self.procs = machine.fs, machine.files, machine.procs
        self._running = 0  # the pid that had the hart last

    def _build(self) -> Machine:
        """Make the parts, from RAM upward."""
        options, personality, limits = self.options, self.options.personality, self.options.personality.limits
        ram = PhysicalMemory(options.memory)
        frames = FrameAllocator(ram)
        hart = Hart(ram) if options.record is None else RecordingHart(ram, options.record)
        fs = RamFs(
            limits.ninode, limits.disk_bytes, limits.file_bytes, limits.disk_inodes, limits.block_bytes
        )
        files = FileTable(fs, {CONSOLE: self.console}, limits.nfile, personality.console_has_no_inode)
        frames.pager = pager = self._build_pager(frames, hart)
        paging = Paging(options.handler, options.lazy or personality.always_lazy, options.cow, self.emit)
        return Machine(
            frames=frames,
            hart=hart,
            fs=fs,
            files=files,
            console=self.console,
            procs=ProcTable(frames, paging, hart, self.scheduler, fs, files, limits, self.emit),
            pipe_frames=PipeFrames(frames),
            pager=pager,
            clock=self._clock,
            personality=personality,
            calls=call_table(personality.calls),
            log=self.log,
            emit=self.emit,
        )

    def _build_pager(self, frames: FrameAllocator, hart: Hart) -> Pager | None:
        """Who makes room when frames run out, if anybody does."""
        swap, evictor = self.options.swap, self.options.evictor
        if not swap or evictor is None:
            return None
        return Pager(frames, SwapArea(swap), evictor, self._spaces, hart.shootdown)

    def _spaces(self) -> list[AddressSpace]:
        return self.procs.spaces()

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
        while init.state is not ZOMBIE:
            self.keys.take()
            pid = self.scheduler.choose()
            proc = None if pid is None else self.procs.find(pid)
            if proc is not None:
                self._run_slice(proc)
                if proc.state is ZOMBIE and proc.saw_end and proc.leader:
                    return proc.xstate  # a shell left at the end of the input; its like would do so for ever
            elif not self._idle():
                self.log("every process waits for another one; the machine halts")
                return -1
        return init.xstate

    def _run_slice(self, proc: Proc) -> None:
        """Let ``proc`` run until it waits or ends, its turn is over, or somebody more urgent is ready."""
        self._switch_to(proc)
        quantum = self.scheduler.quantum(proc.pid)
        end = None if quantum is None else self.clock.cycles + quantum
        if proc.kernel is not None:
            resume(self.machine, proc)
        while not self._leaves_hart(proc):
            budget = self._budget(end)
            trap = self.hart.run(proc.space, proc.context, budget)
            self._charge(proc)
            waiting = self.scheduler.waiting()
            usertrap(self.machine, proc, trap)
            self.procs.wake_due(self.clock.cycles)
            if self.options.audit:
                self.audit()
            if proc.state is RUNNING and self._must_stop(proc, end, waiting):
                self.procs.make_runnable(proc)
            elif trap.cause == TIMER:
                self.keys.take()

    def _leaves_hart(self, proc: Proc) -> bool:
        return proc.state is not RUNNING or die_if_killed(self.machine, proc)

    def _must_stop(self, proc: Proc, end: int | None, waited: int) -> bool:
        """Whether the turn of ``proc`` is over; ``waited`` were ready before its last trap."""
        if end is not None and self.clock.cycles >= end:
            return True
        return self.scheduler.waiting() > waited and self.scheduler.preempts(proc.pid)

    def _switch_to(self, proc: Proc) -> None:
        if proc.pid != self._running and self.emit is not None:
            self.emit(Switch(self.clock.cycles, self._running, proc.pid))
        self._running = proc.pid
        proc.state = RUNNING

    def _budget(self, end: int | None) -> int | None:
        """How many instructions may run before the kernel must look again; None when nobody else waits
        for the hart or for a moment, since counting instructions makes them five times slower."""
        wake = self.procs.next_wake()
        alone = wake is None and not self.scheduler.waiting()
        moments = [moment for moment in (wake, None if alone else end) if moment is not None]
        if moments:
            return max(1, min(moments) - self.clock.cycles)
        return ENDLESS if self.options.exact_time else None

    def _charge(self, proc: Proc) -> None:
        """Time has passed: an instruction a cycle where they were counted, and the way into the kernel."""
        cycles = self.hart.executed + TRAP_CYCLES
        self.clock.advance(cycles)
        self.scheduler.ran(proc.pid, cycles)

    def _idle(self) -> bool:
        """Nobody can run: jump to the next wake-up, or wait for the keyboard. False when neither can help."""
        wake = self.procs.next_wake()
        if wake is None:
            return self.keys.wait()
        self.clock.jump(wake)
        self.procs.wake_due(wake)
        return True

    def _on_key(self, key: Key) -> None:
        self.keys.act(key)

    def audit(self) -> None:
        """Panic unless the books balance; see :mod:`nexemu.trap.audit`."""
        audit(self.machine)
