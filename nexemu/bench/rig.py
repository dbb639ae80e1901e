"""What probes are set up on: a kernel that nobody types at with one process, or a bare machine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import thread_time
from typing import Final, NamedTuple

from nexemu.bench.probe import NotHere
from nexemu.errors import OperatorError
from nexemu.kernel import Kernel, Options
from nexemu.machine.bare import BareMachine
from nexemu.mem.grow import sbrk, uvmalloc
from nexemu.mem.phys import PhysicalMemory
from nexemu.personality import GUESTS, NEXOS
from nexemu.proc.proc import Proc
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_X, Cause, pte2pa
from nexemu.sched import POLICIES
from nexemu.trap.keys import NoKeys

HEAP: Final = PGSIZE
"""Where a process's heap begins: its code takes the first page."""


def guest_folder() -> Path:
    """Where the compiled guest programs are. Raises NotHere."""
    folder = GUESTS / NEXOS.name
    if not (folder / "init").is_file():
        raise NotHere("no guest programs: run `make guests`")
    return folder


class Shown(NamedTuple):
    """What was shown at once, and when, in seconds of some clock."""

    at: float
    data: bytes


def first_with(word: bytes, shown: Sequence[Shown]) -> int:
    """The index of what holds ``word``. Raises OperatorError."""
    for index, piece in enumerate(shown):
        if word in piece.data:
            return index
    raise OperatorError(f"the guest ended before it wrote {word.decode()!r}")


class Stopwatch(NoKeys):
    """A console at which nobody types. It keeps what is shown, by this thread's processor time."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []

    def write(self, data: bytes) -> None:
        """``data`` is shown, unless it is nothing: the kernel asks so whether it may write."""
        if data:
            self.shown.append(Shown(thread_time(), bytes(data)))


def quiet_kernel(options: Options, console: Stopwatch) -> Kernel:
    """A kernel that has nothing to say to the host."""
    return Kernel(options, POLICIES["round-robin"](), console, console.write, lambda _: None)


class Rig:
    """A kernel with one process: its image is ``code``, a page at the most, from address 0 on."""

    def __init__(self, code: bytes, options: Options) -> None:
        self.kernel = quiet_kernel(options, Stopwatch())
        procs, fs = self.kernel.procs, self.kernel.fs
        space = procs.new_space()
        uvmalloc(space, 0, PGSIZE, PTE_R | PTE_X | PTE_U)
        space.frames.ram.write(pte2pa(space.table.pte(0)), code)
        space.size = HEAP
        self.proc = procs.create("bench", space, fs.idup(fs.root))
        procs.make_runnable(self.proc)

    def grow(self, pages: int) -> None:
        """Move the break by ``pages``, as the kernel's switch says: now, or when they are touched."""
        sbrk(self.proc.space, pages * PGSIZE, eager=not self.kernel.options.lazy)

    def fork(self) -> Proc:
        """A child of the process."""
        return self.kernel.procs.fork(self.proc)

    def end(self, child: Proc) -> None:
        """Nothing of ``child`` remains."""
        self.kernel.scheduler.forget(child.pid)
        self.kernel.procs.exit(child, 0)
        self.kernel.procs.reap(child)

    def seconds(self, proc: Proc, registers: Mapping[int, int]) -> float:
        """The processor time from address 0 to the first ecall of ``proc``, with these registers set."""
        hart, context = self.kernel.hart, proc.context
        for number, value in registers.items():
            hart.write_register(context, number, value)
        context.pc = 0
        start = thread_time()
        trap = hart.run(proc.space, context, None)
        took = thread_time() - start
        assert trap.cause == Cause.USER_ECALL, f"the loop ended with {trap}"
        return took


class BareRig:
    """The floor's side: ``code`` at the start of RAM, room for data behind its page."""

    def __init__(self, code: bytes, memory: int, empty_fill: bool = False) -> None:
        self.ram = PhysicalMemory(memory)
        self.ram.write(self.ram.base, code)
        self.machine = BareMachine(self.ram, empty_fill)
        self.data = self.ram.base + PGSIZE

    def seconds(self, registers: Mapping[int, int]) -> float:
        """The processor time from the start of the code to its first ecall, with these registers set."""
        self.machine.set_registers(registers)
        start = thread_time()
        self.machine.run(self.ram.base)
        return thread_time() - start
