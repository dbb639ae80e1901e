"""The register file of the hart, in which the processes take turns.

The registers of one process at a time are in the engine; those of all others are copies. They
change places when somebody else's are wanted, so a process that traps and goes on moves nothing.
"""

from nexemu.machine.engine import Engine, Saved
from nexemu.riscv import VA


class Context:
    """The registers of one process while it does not run, and ``pc``, where it resumes."""

    __slots__ = ("pc", "saved")

    def __init__(self, saved: Saved, pc: VA) -> None:
        self.saved = saved
        self.pc = pc


class RegisterFile:
    """The registers of ``engine``, and whose they are."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loaded: Context | None = None

    def new_context(self) -> Context:
        """The registers of a process that never ran: all zero."""
        self._unload()
        self._engine.reset()
        return Context(self._engine.save(), 0)

    def fork_context(self, context: Context) -> Context:
        """A copy of ``context``, for a child."""
        self._load(context)
        return Context(self._engine.save(), context.pc)

    def read_register(self, context: Context, number: int) -> int:
        """Integer register x0..x31 of ``context``."""
        self._load(context)
        return self._engine.read(number)

    def write_register(self, context: Context, number: int, value: int) -> None:
        """Set integer register x1..x31 of ``context`` to the low 64 bits of ``value``."""
        self._load(context)
        self._engine.write(number, value)

    def arguments(self) -> list[int]:
        """a0 to a7 as they were when the last trap was taken."""
        return self._engine.arguments()

    def _move_to(self, engine: Engine) -> None:
        """The registers are in ``engine`` from here on."""
        self._unload()
        self._engine = engine

    def _load(self, context: Context) -> None:
        if context is not self._loaded:
            self._unload()
            self._engine.restore(context.saved)
            self._loaded = context

    def _unload(self) -> None:
        if self._loaded is not None:
            self._engine.save_over(self._loaded.saved)
            self._loaded = None
