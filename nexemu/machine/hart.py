"""The hart: runs user code under Unicorn until something needs the kernel.

It knows neither processes nor page tables. Nothing leaves it for a page fault that the space
resolves, nor for a system call that changes nothing about who runs where.

Whether Unicorn counts instructions is part of the code that it makes, and to change that costs a
few milliseconds. So the hart has two cores, one that counts and one that runs five times as fast,
and whoever runs next goes on with the one that is wanted.
"""

from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

from nexemu.errors import GuestError
from nexemu.machine.core import Core, Space
from nexemu.machine.engine import Ram
from nexemu.machine.registers import Context, RegisterFile
from nexemu.riscv import FETCH, PAGE_FAULT_OF, PGSIZE, TIMER, U64, USER_ECALL, VA, Cause


class Trap(NamedTuple):
    """Why user code stopped. ``epc`` is the instruction that trapped (for TIMER, the next one);
    ``stval`` is the faulting address as far as the TLB knows it, page aligned or better;
    ``error`` says why a page fault could not be resolved."""

    cause: int
    epc: VA
    stval: int = 0
    error: GuestError | None = None


class Hart(RegisterFile):
    """One RV64GC hart in user mode on ``ram``. ``executed``: the instructions that the last :meth:`run` did
    within its budget; 0 where it had none, since nobody counted them."""

    def __init__(self, ram: Ram) -> None:
        self._ram = ram
        self._core = self._fast_core = self._new_core()
        self._counting_core: Core | None = None  # made when it is wanted first
        super().__init__(self._core.engine)
        self.executed = 0
        self._budget: int | None = None
        self._serve: Callable[[], bool] | None = None
        self._served: Trap | None = None
        self._exception: int | None = None
        self._stop_requested = False

    def _new_core(self) -> Core:
        return Core(self._ram, self._on_exception)

    def stop(self) -> None:
        """Make ``run`` return soon with a TIMER trap. May be called from another thread."""
        self._stop_requested = True
        self._core.engine.stop()

    def interrupt(self, error: BaseException, where: FrameType | None = None) -> None:
        """Raise ``error``, for a signal's handler that was called at ``where``: out of :meth:`run` if that is
        under way, else now. Now also in the middle of a system call, which may be waiting for the host, or
        of a page fault, whose handler may never end."""
        if not self._core.engine.running or self._is_kept(where):
            raise error
        self._core.error = error
        self.stop()

    def _is_kept(self, frame: FrameType | None) -> bool:
        """Whether a callback keeps for ``run`` what is raised in ``frame``."""
        assert self._core.space is not None
        keep = self._serve_ecall.__code__, self._core.space.translate.__code__
        while frame is not None and frame.f_code not in keep:
            frame = frame.f_back
        return frame is not None

    def shootdown(self) -> None:
        """Forget all translations, now: rights were taken away, perhaps in the middle of an instruction."""
        self._core.shootdown()

    def run(
        self, space: Space, context: Context, budget: int | None, serve: Callable[[], bool] | None = None
    ) -> Trap:
        """Run ``context`` in ``space`` until it traps, or until ``budget`` instructions are done (TIMER).
        ``context.pc`` is where it resumes: behind an ecall, at any other trap's instruction.

        ``serve`` serves a system call and says whether the process may run on at once, as it did. When it
        must not, that ecall is returned; nothing is left to be done for it."""
        core = self._core_for(budget)
        self._load(context)
        core.enter(space)
        self._budget, self._serve = budget, serve
        self._forget_last_run()
        if self._stop_requested:
            self._stop_requested = False
            return Trap(TIMER, context.pc)
        went_on = core.engine.start(context.pc, budget or 0)
        self._raise_kept_error()
        return self._served or self._trap(context, went_on)

    def _core_for(self, budget: int | None) -> Core:
        if budget is None:
            wanted = self._fast_core
        else:
            wanted = self._counting_core = self._counting_core or self._new_core()
        if wanted is not self._core:
            self._core.leave(wanted)
            self._core = wanted
            self._move_to(wanted.engine)
        return wanted

    def _forget_last_run(self) -> None:
        self.executed = 0
        self._exception = self._served = self._core.fault = None

    def _raise_kept_error(self) -> None:
        error = self._core.error
        if error is not None:
            self._core.error = None
            raise error

    def _trap(self, context: Context, went_on: bool) -> Trap:
        self._take_down(context)
        if self._exception is not None:  # Unicorn has added 4 to pc, whatever the exception
            epc = context.pc - 4
            if self._exception != USER_ECALL:
                context.pc = epc
            return Trap(self._exception, epc)
        if self._core.fault is not None:
            va, access, error = self._core.fault
            if access is FETCH and va == (context.pc - PGSIZE) & U64:
                return Trap(Cause.ILLEGAL_INSTRUCTION, context.pc)  # it takes 0x0000 for 0 bytes long
            return Trap(PAGE_FAULT_OF[access], context.pc, va, error)
        if not went_on:  # the one instruction that Unicorn calls invalid rather than an exception
            return Trap(Cause.BREAKPOINT, context.pc)
        if context.pc in self._core.forbidden:
            return Trap(Cause.ILLEGAL_INSTRUCTION, context.pc)
        self._stop_requested = False
        return Trap(TIMER, context.pc)

    def _take_down(self, context: Context) -> None:
        """What the kernel wants to know first: a0 to a7, pc, and how many instructions it took."""
        context.pc = self._engine.read_trap_registers()
        if self._budget is not None:
            self.executed = self._engine.executed(self._budget)

    def _on_exception(self, _engine: int, number: int, _data: object) -> None:
        """Unicorn goes on behind the instruction, unless it is stopped."""
        if number == USER_ECALL and self._serve is not None:
            try:
                if self._serve_ecall(self._serve):
                    return
            except BaseException as error:  # noqa: BLE001 - run() raises it again, out of C's reach
                self._core.error = error
        self._exception = number
        self._core.engine.stop()

    def _serve_ecall(self, serve: Callable[[], bool]) -> bool:
        """Whether user code goes on, with everything as it was."""
        context = self._loaded
        assert context is not None
        self._take_down(context)
        epc = context.pc - 4
        if serve() and self._budget is None and self._core.is_up_to_date():
            return True
        self._served = Trap(USER_ECALL, epc)
        return False
