"""A core: one Unicorn engine, and what it remembers of memory.

It knows no page table: on a TLB miss it asks the space that it is in for a translation. Page faults
that the space resolves are over before the instruction that caused them resumes.

Invariants: the soft TLB holds nothing that the space has taken away (``epoch``), and no translated
code outlives the bytes it came from (``code_epoch``).

What Unicorn 2.1.4 does, and this file relies on, is listed in docs/ARCHITECTURE.md.
"""

import ctypes
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from nexemu.errors import GuestError
from nexemu.machine.engine import MEM_FETCH, MEM_READ, MEM_WRITE, Engine, Ram
from nexemu.machine.softtlb import SoftTlb
from nexemu.riscv import PTE, PTE_W, PTE_X, VA, Access

ACCESS_OF: Final = {MEM_READ: Access.READ, MEM_WRITE: Access.WRITE, MEM_FETCH: Access.FETCH}


class Space(Protocol):
    """What a core must know of an address space."""

    pid: int
    epoch: int
    code_epoch: int
    forbidden: tuple[VA, ...]

    def translate(self, va: VA, access: Access) -> PTE:
        """A leaf PTE that allows ``access``, or GuestError."""


class Fault(NamedTuple):
    """An access that the space refused: where, as far as the TLB knows it, page aligned or better."""

    va: VA
    access: Access
    error: GuestError


class Core:
    """One RV64GC core on ``ram``. ``fault``: why it stopped, if it was for that; ``error``: what else a
    callback raised."""

    def __init__(self, ram: Ram, on_exception: Callable[[int, int, object], None]) -> None:
        self.engine = Engine(ram, self._on_tlb_miss, on_exception)
        self.space: Space | None = None
        self.fault: Fault | None = None
        self.error: BaseException | None = None
        self._stored_to_code = False
        self.forbidden: tuple[VA, ...] = ()
        self._epoch = self._code_epoch = -1
        self._results: dict[int, memoryview] = {}
        self._tlb = SoftTlb()

    def enter(self, space: Space) -> None:
        """Be in ``space`` from here on, and drop what it does not vouch for."""
        if space.code_epoch > self._code_epoch:
            self.engine.flush_code()
            self._code_epoch = space.code_epoch
        if space.forbidden != self.forbidden:
            self.forbidden = space.forbidden
            self.engine.set_exits(self.forbidden)
            self.engine.flush_code()
        if space is not self.space or space.epoch != self._epoch:
            self.shootdown()
            self.space = space
            self._translate = space.translate
            self._epoch = space.epoch

    def is_up_to_date(self) -> bool:
        """Whether all that it remembers is what the space that it is in would say."""
        assert self.space is not None
        return self.space.epoch == self._epoch and self.space.code_epoch <= self._code_epoch

    def shootdown(self) -> None:
        """Forget all translations of addresses."""
        self.engine.flush_tlb()
        self._tlb.flushed()

    def leave(self, other: "Core") -> None:
        """``other`` goes on in the place of this core, which it has not watched: a page may lie in another
        frame since, and hold other code."""
        other.shootdown()
        if self._stored_to_code:
            other.engine.flush_code()
            self._stored_to_code = False

    def _on_tlb_miss(self, _engine: int, va: VA, access: int, where: int, _data: object) -> bool:
        """A translation for Unicorn, or False to stop at this instruction."""
        try:
            tlb = self._tlb
            tlb.granted -= 1
            if (tlb.granted == 0 or va == tlb.watched) and tlb.look(va):
                self.engine.flush_tlb()
            pte = self._translate(va, ACCESS_OF[access])
        except GuestError as error:
            self.fault = Fault(va, ACCESS_OF[access], error)
            return False
        except BaseException as error:  # noqa: BLE001 - the hart raises it again, out of C's reach
            self.error = error
            return False
        if pte & PTE_X:
            self._on_code(pte)
        result = self._results.get(where) or self._result_at(where)
        result[0] = pte >> 10 << 12
        result[1] = pte >> 1 & 7  # R, W and X are Unicorn's rights, one bit up
        return True

    def _on_code(self, pte: PTE) -> None:
        """A page of code was translated. If its bytes are new in its frame, come back and drop what they were
        translated to. A store is seen by Unicorn, which drops what it overwrites; the other core is not."""
        assert self.space is not None
        if pte & PTE_W:
            self._stored_to_code = True  # or will, unnoticed
        if self.space.code_epoch > self._code_epoch:
            self.engine.stop()

    def _result_at(self, address: int) -> memoryview:
        """The two words at ``address``: a place on Unicorn's stack, of which there are but a few. Kept, since
        making the view costs more than using it; never used outside the callback that names it."""
        words = (ctypes.c_uint64 * 2).from_address(address)
        view = self._results[address] = memoryview(words).cast("B").cast("Q")
        return view
