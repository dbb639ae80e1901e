"""The kernel: owns every part of one machine, wires them together, and starts the first process.

xv6: main() in kernel/main.c and userinit() in kernel/proc.c
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nexemu.errors import GuestError, OperatorError
from nexemu.events import Emit
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
from nexemu.param import RAM_BYTES
from nexemu.personality import NEXOS, Personality
from nexemu.policy import Evictor, Scheduler
from nexemu.proc.clock import Clock
from nexemu.proc.exec import load
from nexemu.proc.proc import Proc
from nexemu.proc.table import ProcTable
from nexemu.proc.turns import TimedScheduler
from nexemu.trap.audit import audit
from nexemu.trap.dispatch import Dispatcher
from nexemu.trap.keys import Keyboard, Keys
from nexemu.trap.machine import Machine
from nexemu.trap.pipeframes import PipeFrames
from nexemu.trap.syscall import call_table


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
        self.dispatcher = Dispatcher(machine, self.scheduler, self.keys, options.audit, options.exact_time)

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
        return self.dispatcher.run(init)

    def _on_key(self, key: Key) -> None:
        self.keys.act(key)

    def audit(self) -> None:
        """Panic unless the books balance; see :mod:`nexemu.trap.audit`."""
        audit(self.machine)
