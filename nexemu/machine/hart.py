"""The hart: runs user code under Unicorn until something needs the kernel.

It knows neither processes nor page tables: on a TLB miss it asks the space it was given for a
translation, and where there is none it stops with a trap. Page faults that the space resolves are
over before the instruction that caused them resumes; nothing leaves the hart for them, nor for a
system call that changes nothing about who runs where.

Invariants: the soft TLB holds nothing that the current space has taken away (``epoch``), and no
translated code outlives the bytes it came from (``code_epoch``).

What Unicorn 2.1.4 does, and this file relies on, is listed in docs/ARCHITECTURE.md.
"""

import ctypes
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from nexemu.errors import GuestError
from nexemu.machine.engine import MEM_FETCH, MEM_READ, MEM_WRITE, Engine, Ram
from nexemu.machine.registers import Context, RegisterFile
from nexemu.machine.softtlb import SoftTlb
from nexemu.riscv import (
    FETCH,
    PAGE_FAULT_OF,
    PGSIZE,
    PTE,
    PTE_X,
    TIMER,
    U64,
    USER_ECALL,
    VA,
    Access,
    Cause,
    pa2pte,
)

ACCESS_OF: Final = {MEM_READ: Access.READ, MEM_WRITE: Access.WRITE, MEM_FETCH: Access.FETCH}


class Space(Protocol):
    """What the hart must know of an address space."""

    pid: int
    epoch: int
    code_epoch: int
    forbidden: tuple[VA, ...]

    def translate(self, va: VA, access: Access) -> PTE:
        """A leaf PTE that allows ``access``, or GuestError."""


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
        super().__init__(Engine(ram, self._on_tlb_miss, self._on_exception))
        self._any_frame = pa2pte(ram.base) | FETCH
        self._serve: Callable[[], bool] | None = None
        self._served: Trap | None = None
        self._budget: int | None = None
        self._space: Space | None = None
        self._epoch = self._code_epoch = -1
        self._forbidden: tuple[VA, ...] = ()
        self._counting = False
        self.executed = 0
        self._results: dict[int, memoryview] = {}
        self._tlb = SoftTlb()
        self._exception: int | None = None
        self._fault: tuple[VA, Access, GuestError] | None = None
        self._error: BaseException | None = None
        self._stop_requested = False

    def stop(self) -> None:
        """Make ``run`` return soon with a TIMER trap. May be called from another thread."""
        self._stop_requested = True
        self._engine.stop()

    def interrupt(self, error: BaseException) -> None:
        """Raise ``error``, for a signal's handler: now, or out of :meth:`run` if that is under way."""
        if not self._engine.running:
            raise error
        self._error = error
        self.stop()

    def shootdown(self) -> None:
        """Forget all translations, now: rights were taken away, perhaps in the middle of an instruction."""
        self._engine.flush_tlb()
        self._tlb.flushed()

    def run(
        self, space: Space, context: Context, budget: int | None, serve: Callable[[], bool] | None = None
    ) -> Trap:
        """Run ``context`` in ``space`` until it traps, or until ``budget`` instructions are done (TIMER).
        ``context.pc`` is where it resumes: behind an ecall, at any other trap's instruction.

        ``serve`` serves a system call and says whether the process may run on at once, as it did. When it
        must not, that ecall is returned; nothing is left to be done for it."""
        self._prepare(space, context, budget)
        self._serve = serve
        if self._stop_requested:
            self._stop_requested = False
            self._raise_kept_error()
            return Trap(TIMER, context.pc)
        went_on = self._engine.start(context.pc, budget or 0)
        if self._error is not None:
            self._raise_kept_error()
        return self._served or self._trap(context, went_on)

    def _prepare(self, space: Space, context: Context, budget: int | None) -> None:
        self._load(context)
        self._enter(space)
        self._exception = self._fault = self._served = None
        self._budget = budget
        self.executed = 0
        if (budget is not None) != self._counting:
            self._change_counting(context.pc)

    def _raise_kept_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _trap(self, context: Context, went_on: bool) -> Trap:
        self._take_down(context)
        if self._exception is not None:  # Unicorn has added 4 to pc, whatever the exception
            epc = context.pc - 4
            if self._exception != USER_ECALL:
                context.pc = epc
            return Trap(self._exception, epc)
        if self._fault is not None:
            va, access, error = self._fault
            if access is Access.FETCH and va == (context.pc - PGSIZE) & U64:
                return Trap(Cause.ILLEGAL_INSTRUCTION, context.pc)  # it takes 0x0000 for 0 bytes long
            return Trap(PAGE_FAULT_OF[access], context.pc, va, error)
        if not went_on:  # the one instruction that Unicorn calls invalid rather than an exception
            return Trap(Cause.BREAKPOINT, context.pc)
        if context.pc in self._forbidden:
            return Trap(Cause.ILLEGAL_INSTRUCTION, context.pc)
        self._stop_requested = False
        return Trap(TIMER, context.pc)

    def _take_down(self, context: Context) -> None:
        """What the kernel wants to know first: a0 to a7, pc, and how many instructions it took."""
        context.pc = self._engine.read_trap_registers()
        if self._budget is not None:
            self.executed = self._engine.executed(self._budget)

    def _enter(self, space: Space) -> None:
        """Drop what ``space`` does not vouch for."""
        if space.code_epoch > self._code_epoch:
            self._engine.flush_code()
            self._code_epoch = space.code_epoch
        if space.forbidden != self._forbidden:
            self._forbidden = space.forbidden
            self._engine.set_exits(self._forbidden)
            self._engine.flush_code()
        if space is not self._space or space.epoch != self._epoch:
            self.shootdown()
            self._space = space
            self._translate = space.translate
            self._epoch = space.epoch

    def _change_counting(self, pc: VA) -> None:
        """Whether Unicorn counts instructions is part of the code it makes."""
        self._engine.flush_code()
        if self._counting:
            self._stop_counting(pc)
        self._counting = not self._counting

    def _stop_counting(self, pc: VA) -> None:
        """Let Unicorn leave the mode in which it counts instructions. It looks up the page of every block
        that it ever counted, whichever space that was in: answer anything, run nothing, forget all."""
        self._translate = self._any_translation
        self._engine.set_exits([pc])
        self._engine.start(pc, 0)
        self._engine.set_exits(self._forbidden)
        self.shootdown()
        assert self._space is not None
        self._translate = self._space.translate

    def _any_translation(self, va: VA, access: Access) -> PTE:
        return self._any_frame

    def _on_exception(self, _engine: int, number: int, _data: object) -> None:
        """Unicorn goes on behind the instruction, unless it is stopped."""
        if number == USER_ECALL and self._serve is not None:
            try:
                if self._serve_ecall(self._serve):
                    return
            except BaseException as error:  # noqa: BLE001 - as below
                self._error = error
        self._exception = number
        self._engine.stop()

    def _serve_ecall(self, serve: Callable[[], bool]) -> bool:
        """Whether user code goes on, with everything as it was."""
        context, space = self._loaded, self._space
        assert context is not None
        assert space is not None
        self._take_down(context)
        behind = context.pc
        unmoved = serve() and space.epoch == self._epoch and space.code_epoch <= self._code_epoch
        if unmoved and not self._counting:
            return True
        self._served = Trap(USER_ECALL, behind - 4)
        return False

    def _on_tlb_miss(self, _engine: int, va: VA, access: int, where: int, _data: object) -> bool:
        """A translation for Unicorn, or False to stop at this instruction."""
        try:
            tlb = self._tlb
            tlb.granted -= 1
            if (tlb.granted == 0 or va == tlb.watched) and tlb.look(va):
                self._engine.flush_tlb()
            pte = self._translate(va, ACCESS_OF[access])
        except GuestError as error:
            self._fault = va, ACCESS_OF[access], error
            return False
        except BaseException as error:  # noqa: BLE001 - run() raises it again, out of C's reach
            self._error = error
            return False
        if pte & PTE_X and (access == MEM_WRITE or self._has_new_code()):
            self._engine.stop()  # a page of code may have moved: come back and compare the code epoch
        result = self._results.get(where) or self._result_at(where)
        result[0] = pte >> 10 << 12
        result[1] = pte >> 1 & 7  # R, W and X are Unicorn's rights, one bit up
        return True

    def _has_new_code(self) -> bool:
        return self._space is not None and self._space.code_epoch > self._code_epoch

    def _result_at(self, address: int) -> memoryview:
        """The two words at ``address``: a place on Unicorn's stack, of which there are but a few. Kept, since
        making the view costs more than using it; never used outside the callback that names it."""
        words = (ctypes.c_uint64 * 2).from_address(address)
        view = self._results[address] = memoryview(words).cast("B").cast("Q")
        return view
