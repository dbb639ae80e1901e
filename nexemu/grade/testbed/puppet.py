"""A process that does what a check says.

Its instructions run on the hart and trap into the kernel as any program's do. Results are what its
registers hold; what its memory holds is read without its help, by :meth:`Puppet.peek`.
"""

from typing import Final, Protocol, Self

from nexemu import abi
from nexemu.events import BadAccess
from nexemu.grade.testbed.expect import Killed, Lost, equal, true
from nexemu.grade.testbed.journal import Journal, page_state
from nexemu.grade.testbed.program import Step
from nexemu.kernel import Kernel
from nexemu.proc.proc import Proc, State
from nexemu.riscv import PA, PGMASK, PGSIZE, PTE, PTE_FLAGS, PTE_V, U64, VA, Cause, pte2pa
from nexemu.trap.usertrap import die_if_killed, usertrap

NUMBERS: Final = {prototype.name: prototype.number for prototype in abi.NEXOS}
A0, A1, A2, A7 = 10, 11, 12, 17
INSTRUCTIONS: Final = 1000
TURNS: Final = 8
"""No step takes more than three instructions; the hart may come back early once or twice."""


class Bed(Protocol):
    """What a puppet must know of its testbed; ``deaths`` are the bad accesses, by pid."""

    kernel: Kernel
    journal: Journal
    deaths: dict[int, BadAccess]

    def puppet(self, pid: object) -> "Puppet":
        """The process that a fork has returned, which must exist."""


class Puppet:
    """The process ``proc`` of ``bed``."""

    def __init__(self, bed: Bed, proc: Proc) -> None:
        self.bed = bed
        self.proc = proc
        self.space = proc.space
        self.pid = proc.pid

    # ---- instructions -------------------------------------------------------------------------

    def load(self, va: VA) -> int | Killed:
        """Load the byte at ``va``."""
        return self._step(Step.LOAD, f"loads a byte from {va:#x}", va)

    def store(self, va: VA, byte: int) -> int | Killed:
        """Store ``byte`` at ``va``; what it returns means nothing unless it is Killed."""
        return self._step(Step.STORE, f"stores {byte:#x} to {va:#x}", va, byte)

    def add(self, va: VA, number: int) -> int | Killed:
        """Add ``number`` to the word at ``va`` in one atomic instruction; the word before."""
        return self._step(Step.ADD, f"adds {number} to {va:#x}", va, number)

    def jump(self, va: VA) -> int | Killed:
        """Jump to ``va``; what a0 holds at the breakpoint there."""
        return self._step(Step.JUMP, f"jumps to {va:#x}", va)

    # ---- system calls -------------------------------------------------------------------------

    def sbrk(self, n: int) -> int | Killed:
        """Move the break; the old one, or -1."""
        return self._call("sbrk", n)

    def grow(self, pages: int) -> VA:
        """Grow by ``pages`` pages, which must succeed; the address of the first."""
        before = self.space.size
        result = self.sbrk(pages * PGSIZE)
        equal(f"the break after sbrk(+{pages} pages)", self.space.size, before + pages * PGSIZE, hex)
        if result == -1:
            raise Lost(f"sbrk(+{pages} pages) succeeds", "it returns -1")
        return before

    def grow_and_store(self, pages: int) -> VA:
        """Grow, and store to the first byte of each page its number, from 1 on; the address of the first."""
        heap = self.grow(pages)
        for page in range(pages):
            self.store(heap + page * PGSIZE, page + 1)
        return heap

    def fork(self) -> "Puppet":
        """Fork, which must succeed; the child."""
        return self.bed.puppet(self.try_fork())

    def try_fork(self) -> int | Killed:
        """Fork; the child's pid, or -1."""
        return self._call("fork")

    def exit(self, status: int = 0) -> None:
        """End; the process becomes a zombie."""
        self._call("exit", status)

    def wait(self, status: VA = 0) -> int | Killed:
        """Wait for a child that has ended; its pid."""
        return self._call("wait", status)

    def pipe(self, fds: VA) -> int | Killed:
        """Make a pipe and store its two descriptors at ``fds``."""
        return self._call("pipe", fds)

    def open(self, path: VA, mode: int) -> int | Killed:
        """Open the file whose name is at ``path``; a descriptor."""
        return self._call("open", path, mode)

    def read(self, fd: int, va: VA, n: int) -> int | Killed:
        """Read up to ``n`` bytes into memory at ``va``; how many."""
        return self._call("read", fd, va, n)

    def write(self, fd: int, va: VA, n: int) -> int | Killed:
        """Write ``n`` bytes of memory from ``va``; how many."""
        return self._call("write", fd, va, n)

    def _call(self, name: str, a0: int = 0, a1: int = 0, a2: int = 0) -> int | Killed:
        shown = ", ".join(f"{argument:#x}" for argument in (a0, a1, a2) if argument)
        return self._step(Step.ECALL, f"calls {name}({shown})", a0, a1, a2, NUMBERS[name])

    # ---- what a debugger would see ------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether it has neither exited nor been killed."""
        return self.proc.state is not State.ZOMBIE

    @property
    def resident(self) -> int:
        """User pages below the break that are mapped."""
        return self.space.mapped_pages()

    def pte(self, va: VA) -> PTE:
        """The PTE for ``va``, 0 where there is none."""
        return self.space.table.pte(va)

    def rights(self, va: VA) -> int:
        """The flags of the PTE for ``va``."""
        return self.pte(va) & PTE_FLAGS

    def frame(self, va: VA) -> PA:
        """The frame at ``va``; 0 where nothing is mapped."""
        pte = self.pte(va)
        return pte2pa(pte) if pte & PTE_V else 0

    def peek(self, va: VA, count: int = 1) -> bytes:
        """Bytes of its memory, as they lie in RAM; nothing where nothing is mapped. Touches no page."""
        data, ram = b"", self.space.frames.ram
        while count > 0:
            piece = min(count, PGSIZE - (va & PGMASK))
            frame = self.frame(va)
            data += ram.read(frame + (va & PGMASK), piece) if frame else b""
            va, count = va + piece, count - piece
        return data

    def poke(self, va: VA, data: bytes) -> None:
        """Change bytes of one mapped page, as a debugger does; for before anybody shares it."""
        self.space.frames.ram.write(self.frame(va) + (va & PGMASK), data)

    def forget_translations(self) -> None:
        """Empty the hart's TLB, as when another process has run."""
        self.space.epoch += 1

    def state_of(self, va: VA) -> str:
        """The page at ``va`` in words."""
        return str(page_state(self.space, va))

    def must_share(self, other: Self, va: VA) -> None:
        """A scene that is about sharing begins: this process and ``other`` must share the page at ``va``."""
        shared = self.frame(va) != 0 and self.frame(va) == other.frame(va)
        what = f"pid {self.pid} and pid {other.pid} share the page at {va:#x} after fork"
        true(what, shared, f"pid {other.pid}'s page is {other.state_of(va)}")

    def must_be_untouched(self, va: VA) -> None:
        """A scene that is about first touches begins: nothing may be mapped at ``va`` yet."""
        true(f"nothing is mapped at {va:#x} before it is touched", not self.frame(va), self.state_of(va))

    # ---- the machinery ------------------------------------------------------------------------

    def _step(self, step: Step, does: str, a0: int, a1: int = 0, a2: int = 0, a7: int = 0) -> int | Killed:
        """Execute one instruction of the program, and everything that the kernel does for it."""
        self.bed.journal.note(f"pid {self.pid}: {step.text:<14} {does}")
        if not self.alive:
            raise Lost(f"pid {self.pid} is alive and {does}", f"it was killed: {self._death()}")
        machine, proc = self.bed.kernel.machine, self.proc
        for register, value in ((A0, a0), (A1, a1), (A2, a2), (A7, a7)):
            machine.hart.write_register(proc.context, register, value)
        proc.context.pc = step
        proc.state = State.RUNNING
        for _ in range(TURNS):
            trap = machine.hart.run(proc.space, proc.context, INSTRUCTIONS)
            if trap.cause == Cause.BREAKPOINT:
                return self._result()
            usertrap(machine, proc, trap)
            if die_if_killed(machine, proc):
                return self._killed()
            if proc.state is not State.RUNNING:
                break
        if proc.state is State.ZOMBIE:
            return 0
        raise Lost(f"pid {self.pid} {does} and comes back", "it never does")

    def _result(self) -> int:
        value = self.bed.kernel.hart.read_register(self.proc.context, A0)
        return int(value - (U64 + 1) if value >> 63 else value)

    def _killed(self) -> Killed:
        death = self.bed.deaths.get(self.pid)
        return Killed(death.cause if death is not None else 0, self._death())

    def _death(self) -> str:
        death = self.bed.deaths.get(self.pid)
        if death is None:
            return "without a bad access"
        return f"{death.why} (scause {death.cause}, stval {death.stval:#x})"
