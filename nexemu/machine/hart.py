"""The hart: runs user code under Unicorn until something needs the kernel.

The only file that imports unicorn. It knows neither processes nor page tables: on a TLB miss it
asks the space it was given for a translation, and where there is none it stops with a trap.
Page faults that the space resolves are over before the instruction that caused them resumes;
nothing leaves the hart for them.

Invariants: the soft TLB holds nothing that the current space has taken away (``epoch``), and no
translated code outlives the bytes it came from (``code_epoch``).

What Unicorn 2.1.4 does, and this file relies on, is listed in docs/ARCHITECTURE.md.
"""

import ctypes
from typing import Any, Final, NamedTuple, Protocol

from unicorn import Uc, UcError
from unicorn import riscv_const as reg
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from nexemu.errors import GuestError
from nexemu.machine.softtlb import SoftTlb
from nexemu.riscv import PA, PAGE_FAULT_OF, PGSIZE, PTE, PTE_X, U64, VA, Access, Cause, pa2pte

ACCESS_OF: Final = {
    const.UC_MEM_READ: Access.READ,
    const.UC_MEM_WRITE: Access.WRITE,
    const.UC_MEM_FETCH: Access.FETCH,
}
USER_MODE: Final = 0
FS_INITIAL: Final = 1 << 13
"""mstatus.FS: with Off, the first floating-point instruction would trap."""

FILL_CALLBACK: Final = ctypes.CFUNCTYPE(
    ctypes.c_bool,
    ctypes.c_void_p,  # the engine
    ctypes.c_uint64,  # the address
    ctypes.c_int,  # UC_MEM_READ, _WRITE or _FETCH
    ctypes.c_void_p,  # where the result goes
    ctypes.c_void_p,  # the hook's own data, none here
)
"""The TLB-fill callback with its result, struct uc_tlb_entry, seen as two words: physical address
and permissions. Registered with the C library directly, since the wrapper that the binding
puts around each call costs half as much as a whole refill."""

TRAP_REGISTERS: Final = (*(reg.UC_RISCV_REG_A0 + i for i in range(8)), reg.UC_RISCV_REG_PC)


class Space(Protocol):
    """What the hart must know of an address space."""

    epoch: int
    code_epoch: int
    forbidden: tuple[VA, ...]

    def translate(self, va: VA, access: Access) -> PTE:
        """A leaf PTE that allows ``access``, or GuestError."""


class Ram(Protocol):
    """What the hart must know of RAM."""

    base: PA
    size: int

    def host_address(self) -> int:
        """Where the host keeps the first byte."""


class Trap(NamedTuple):
    """Why user code stopped. ``epc`` is the instruction that trapped (for TIMER, the next one);
    ``stval`` is the faulting address as far as the TLB knows it, page aligned or better;
    ``error`` says why a page fault could not be resolved."""

    cause: int
    epc: VA
    stval: int = 0
    error: GuestError | None = None


class Context:
    """The registers of one process while it does not run, and ``pc``, where it resumes."""

    __slots__ = ("pc", "saved")

    def __init__(self, saved: Any, pc: VA) -> None:
        self.saved = saved
        self.pc = pc


class Hart:
    """One RV64GC hart in user mode on ``ram``."""

    def __init__(self, ram: Ram) -> None:
        self._ram = ram  # Unicorn uses its bytes: they must live as long as the hart
        self._uc = Uc(const.UC_ARCH_RISCV, const.UC_MODE_RISCV64)
        self._engine = self._uc._uch  # noqa: SLF001 - the handle that the C library wants
        self._uc.mem_map_ptr(ram.base, ram.size, const.UC_PROT_ALL, ram.host_address())
        self._uc.ctl_set_tlb_mode(const.UC_TLB_VIRTUAL)
        self._uc.ctl_exits_enabled(True)  # otherwise the `until` address is looked up: a false fill
        self._uc.ctl_set_exits([])
        self._uc.reg_write(reg.UC_RISCV_REG_MSTATUS, FS_INITIAL)
        self._uc.reg_write(reg.UC_RISCV_REG_PRIV, USER_MODE)
        self._pristine = self._uc.context_save()
        self._uc.hook_add(const.UC_HOOK_INTR, self._on_interrupt)
        self._keep = self._hook_tlb_fill()
        count = len(TRAP_REGISTERS)
        self._values = (ctypes.c_uint64 * count)()
        self._ids = (ctypes.c_int * count)(*TRAP_REGISTERS)
        first = ctypes.addressof(self._values)
        self._pointers = (ctypes.c_void_p * count)(*range(first, first + 8 * count, 8))
        self._loaded: Context | None = None
        self._space: Space | None = None
        self._epoch = self._code_epoch = -1
        self._forbidden: tuple[VA, ...] = ()
        self._counting = False
        self._results: dict[int, memoryview] = {}
        self._tlb = SoftTlb()
        self._misses_left = self._tlb.granted
        self._exception: int | None = None
        self._fault: tuple[VA, Access, GuestError] | None = None
        self._error: BaseException | None = None
        self._stop_requested = False

    def _hook_tlb_fill(self) -> Any:
        callback = FILL_CALLBACK(self._on_tlb_miss)
        handle = ctypes.c_size_t()
        every_address = (ctypes.c_uint64(1), ctypes.c_uint64(0))
        uclib.uc_hook_add(
            self._engine, ctypes.byref(handle), const.UC_HOOK_TLB_FILL, callback, None, *every_address
        )
        return callback

    def new_context(self) -> Context:
        """The registers of a process that never ran: all zero."""
        self._unload()
        self._uc.context_restore(self._pristine)
        return Context(self._uc.context_save(), 0)

    def fork_context(self, context: Context) -> Context:
        """A copy of ``context``, for a child."""
        self._load(context)
        return Context(self._uc.context_save(), context.pc)

    def read_register(self, context: Context, number: int) -> int:
        """Integer register x0..x31 of ``context``."""
        self._load(context)
        return int(self._uc.reg_read(reg.UC_RISCV_REG_X0 + number))

    def write_register(self, context: Context, number: int, value: int) -> None:
        """Set integer register x1..x31 of ``context`` to the low 64 bits of ``value``."""
        self._load(context)
        self._uc.reg_write(reg.UC_RISCV_REG_X0 + number, value & U64)

    def arguments(self) -> list[int]:
        """a0 to a7 as they were when the last trap was taken."""
        return self._values[:8]

    def stop(self) -> None:
        """Make ``run`` return soon with a TIMER trap. May be called from another thread."""
        self._stop_requested = True
        self._uc.emu_stop()

    def run(self, space: Space, context: Context, budget: int | None) -> Trap:
        """Run ``context`` in ``space`` until it traps, or until ``budget`` instructions are done (TIMER).
        ``context.pc`` is where it resumes: behind an ecall, at any other trap's instruction."""
        self._load(context)
        self._enter(space)
        self._exception = self._fault = self._error = None
        failed = False
        if self._stop_requested:
            self._stop_requested = False
            return Trap(Cause.TIMER, context.pc)
        if budget is None and self._counting:
            self._stop_counting(context.pc)
        self._counting = budget is not None
        try:
            self._uc.emu_start(context.pc, 0, 0, budget or 0)
        except UcError:
            failed = True
        if self._error is not None:
            raise self._error
        uclib.uc_reg_read_batch(self._engine, self._ids, self._pointers, len(TRAP_REGISTERS))
        context.pc = self._values[8]
        return self._trap(context, failed)

    def _trap(self, context: Context, failed: bool) -> Trap:
        if self._exception is not None:  # Unicorn has added 4 to pc, whatever the exception
            epc = context.pc - 4
            if self._exception != Cause.USER_ECALL:
                context.pc = epc
            return Trap(self._exception, epc)
        if self._fault is not None:
            va, access, error = self._fault
            if access is Access.FETCH and va == (context.pc - PGSIZE) & U64:
                return Trap(Cause.ILLEGAL_INSTRUCTION, context.pc)  # it takes 0x0000 for 0 bytes long
            return Trap(PAGE_FAULT_OF[access], context.pc, va, error)
        if failed:  # the one instruction that Unicorn calls invalid rather than an exception
            return Trap(Cause.BREAKPOINT, context.pc)
        if context.pc in self._forbidden:
            return Trap(Cause.ILLEGAL_INSTRUCTION, context.pc)
        self._stop_requested = False
        return Trap(Cause.TIMER, context.pc)

    def _load(self, context: Context) -> None:
        if context is not self._loaded:
            self._unload()
            self._uc.context_restore(context.saved)
            self._loaded = context

    def _unload(self) -> None:
        if self._loaded is not None:
            self._uc.context_update(self._loaded.saved)
            self._loaded = None

    def _enter(self, space: Space) -> None:
        """Drop what ``space`` does not vouch for."""
        if space.code_epoch > self._code_epoch:
            self._uc.ctl_flush_tb()
            self._code_epoch = space.code_epoch
        if space.forbidden != self._forbidden:
            self._forbidden = space.forbidden
            self._uc.ctl_set_exits(self._forbidden)
            self._uc.ctl_flush_tb()  # exits are compiled in
        if space is not self._space or space.epoch != self._epoch:
            self._flush_tlb()
            self._space = space
            self._translate = space.translate
            self._epoch = space.epoch

    def _stop_counting(self, pc: VA) -> None:
        """Let Unicorn leave the mode in which it counts instructions. It looks up the page of every block
        that it ever counted, whichever space that was in: answer anything, run nothing, forget all."""
        self._translate = self._any_translation
        self._uc.ctl_flush_tb()
        self._uc.ctl_set_exits([pc])
        self._uc.emu_start(pc, 0)
        self._uc.ctl_set_exits(self._forbidden)
        self._flush_tlb()
        assert self._space is not None
        self._translate = self._space.translate

    def _any_translation(self, va: VA, access: Access) -> PTE:
        return pa2pte(self._ram.base) | Access.FETCH

    def _flush_tlb(self) -> None:
        self._uc.ctl(const.UC_CTL_TLB_FLUSH, const.UC_CTL_IO_WRITE)
        self._misses_left = self._tlb.flushed(self._misses_left)

    def _on_interrupt(self, uc: Uc, number: int, _data: object) -> None:
        self._exception = number
        uc.emu_stop()

    def _on_tlb_miss(self, _handle: int, va: VA, access: int, where: int, _data: object) -> bool:
        """A translation for Unicorn, or False to stop at this instruction."""
        try:
            self._misses_left -= 1
            if self._misses_left < 0:
                self._flush_tlb()
            pte = self._translate(va, ACCESS_OF[access])
        except GuestError as error:
            self._fault = va, ACCESS_OF[access], error
            return False
        except BaseException as error:  # noqa: BLE001 - run() raises it again, out of C's reach
            self._error = error
            return False
        if pte & PTE_X and access == const.UC_MEM_WRITE:
            self._uc.emu_stop()  # a page of code may have moved: come back and compare the code epoch
        result = self._results.get(where) or self._result_at(where)
        result[0] = pte >> 10 << 12
        result[1] = pte >> 1 & 7  # R, W and X are UC_PROT_READ, _WRITE and _EXEC
        return True

    def _result_at(self, address: int) -> memoryview:
        """The two words at ``address``: a place on Unicorn's stack, of which there are but a few. Kept, since
        making the view costs more than using it; never used outside the callback that names it."""
        words = (ctypes.c_uint64 * 2).from_address(address)
        view = self._results[address] = memoryview(words).cast("B").cast("Q")
        return view
