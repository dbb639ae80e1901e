"""Unicorn, as fast as Python can call it: registers, the two callbacks, start and stop.

The binding wraps every call and every hook in Python of its own, and declares what the C library takes,
so that ctypes checks each argument; all that costs more than the work itself. What happens at each
trap or page fault therefore goes to the C library directly, undeclared. All that is particular to
Unicorn 2.1.4 is here, in core.py and in hart.py, and listed in docs/ARCHITECTURE.md.
"""

import ctypes
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from unicorn import Uc
from unicorn import riscv_const as reg
from unicorn import unicorn_const as const
from unicorn.unicorn_py3.unicorn import uclib

from nexemu.riscv import PA, U64, VA

USER_MODE: Final = 0
FS_INITIAL: Final = 1 << 13
"""mstatus.FS: with Off, the first floating-point instruction would trap."""

MEM_READ: Final[int] = const.UC_MEM_READ
MEM_WRITE: Final[int] = const.UC_MEM_WRITE
MEM_FETCH: Final[int] = const.UC_MEM_FETCH

UNDECLARED: Final = ctypes.CDLL(uclib._name)  # noqa: SLF001 - the library that the binding has loaded
"""Takes ctypes objects as they are."""

INTERRUPT_CALLBACK: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)
"""Of the engine, the exception's number, and the hook's own data, none here."""

FILL_CALLBACK: Final = ctypes.CFUNCTYPE(
    ctypes.c_bool,
    ctypes.c_void_p,  # the engine
    ctypes.c_uint64,  # the address
    ctypes.c_int,  # MEM_READ, MEM_WRITE or MEM_FETCH
    ctypes.c_void_p,  # where the result goes: struct uc_tlb_entry, a word of address, a word of rights
    ctypes.c_void_p,  # the hook's own data
)

STRUCT_BYTES: Final = 2048
"""How far into Unicorn's own struct the count of instructions is looked for."""
UNMISTAKABLE: Final = 0x5EED_C0FF_EE15
"""A count that nothing else in that struct equals."""

BLOCK_CALLBACK: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
)
"""Of the engine, a virtual address, the bytes of code there, and the hook's own data."""

MEMORY_CALLBACK: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
)
"""Of the engine, MEM_READ or MEM_WRITE, a physical address, how many bytes, the value, the hook's data."""

TRAP_REGISTERS: Final = (*(reg.UC_RISCV_REG_A0 + i for i in range(8)), reg.UC_RISCV_REG_PC)


class Ram(Protocol):
    """What the engine must know of RAM."""

    base: PA
    size: int

    def host_address(self) -> int:
        """Where the host keeps the first byte."""


class Saved:
    """All registers at some moment: Unicorn's ``context``, and fcsr's accrued ``flags``, which it lacks."""

    __slots__ = ("context", "flags")

    def __init__(self, context: Any, flags: int) -> None:
        self.context = context
        self.flags = flags


class Engine:
    """One RV64GC core in user mode on ``ram``, behind a TLB that ``on_tlb_miss`` fills: called with the five
    things of FILL_CALLBACK, it stores the entry and returns True, or returns False to stop at the
    instruction. ``on_exception`` gets the number of any other exception. ``running``: C code is on the stack,
    and what a callback raises would be lost in it."""

    __slots__ = (
        "_callbacks",
        "_counter",
        "_handle",
        "_pointers",
        "_pristine",
        "_ram",
        "_register",
        "_register_pointer",
        "_registers",
        "_uc",
        "_values",
        "running",
    )

    def __init__(self, ram: Ram, on_tlb_miss: Callable[..., bool], on_exception: Callable[..., None]) -> None:
        self._ram = ram  # Unicorn uses its bytes: they must live as long as the engine
        self.running = False
        self._uc = Uc(const.UC_ARCH_RISCV, const.UC_MODE_RISCV64)
        self._handle = self._uc._uch  # noqa: SLF001 - what the C library wants
        self._uc.mem_map_ptr(ram.base, ram.size, const.UC_PROT_ALL, ram.host_address())
        self._uc.ctl_set_tlb_mode(const.UC_TLB_VIRTUAL)
        self._uc.ctl_exits_enabled(True)  # otherwise the `until` address is looked up: a false fill
        self._uc.ctl_set_exits([])
        self._uc.reg_write(reg.UC_RISCV_REG_MSTATUS, FS_INITIAL)
        self._uc.reg_write(reg.UC_RISCV_REG_PRIV, USER_MODE)
        self._counter = self._find_counter()
        self._pristine = self._uc.context_save()
        self._callbacks: tuple[Any, ...] = (
            self._hook(const.UC_HOOK_INTR, INTERRUPT_CALLBACK(on_exception)),
            self._hook(const.UC_HOOK_TLB_FILL, FILL_CALLBACK(on_tlb_miss)),
        )
        count = len(TRAP_REGISTERS)
        self._registers = (ctypes.c_int * count)(*TRAP_REGISTERS)
        self._values = (ctypes.c_uint64 * count)()
        first = ctypes.addressof(self._values)
        self._pointers = (ctypes.c_void_p * count)(*range(first, first + 8 * count, 8))
        self._register = ctypes.c_uint64()
        self._register_pointer = ctypes.byref(self._register)

    def watch(self, on_block: Callable[..., None], on_memory: Callable[..., None]) -> None:
        """Call these, with the things of BLOCK_CALLBACK and MEMORY_CALLBACK, for all that happens. Slow."""
        loads_and_stores = const.UC_HOOK_MEM_READ | const.UC_HOOK_MEM_WRITE
        self._callbacks += (
            self._hook(const.UC_HOOK_BLOCK, BLOCK_CALLBACK(on_block)),
            self._hook(loads_and_stores, MEMORY_CALLBACK(on_memory)),
        )

    def _hook(self, kind: int, callback: Any) -> Any:
        """Register ``callback`` for every address; it must be kept alive."""
        every_address = (ctypes.c_uint64(1), ctypes.c_uint64(0))
        uclib.uc_hook_add(self._handle, ctypes.byref(ctypes.c_size_t()), kind, callback, None, *every_address)
        return callback

    def start(self, pc: VA, count: int) -> bool:
        """Run from ``pc``, for ``count`` instructions unless that is 0. False: one could not be executed."""
        self.running = True
        status = uclib.uc_emu_start(self._handle, pc, 0, 0, count)
        self.running = False
        return bool(status == const.UC_ERR_OK)

    def _find_counter(self) -> ctypes.c_uint64:
        """Where Unicorn counts instructions. No call tells how far a counted start came, but the count is
        in Unicorn's struct, just before the limit, which is easily found once it has a certain value."""
        self._uc.ctl_set_exits([0])
        self.start(0, UNMISTAKABLE)
        self._uc.ctl_set_exits([])
        address = ctypes.cast(self._handle, ctypes.c_void_p).value
        assert address is not None
        limit = ctypes.string_at(address, STRUCT_BYTES).find(UNMISTAKABLE.to_bytes(8, sys.byteorder))
        assert limit > 0, "this is not Unicorn 2.1.4"
        return ctypes.c_uint64.from_address(address + limit - 8)

    def executed(self, count: int) -> int:
        """How many instructions the last :meth:`start` executed, which had ``count``; the one that trapped
        is among them."""
        return min(self._counter.value, count)

    def stop(self) -> None:
        """Make :meth:`start` return soon; from a callback or from another thread."""
        UNDECLARED.uc_emu_stop(self._handle)

    def read_trap_registers(self) -> VA:
        """Take a0 to a7 and pc down; returns pc."""
        UNDECLARED.uc_reg_read_batch(self._handle, self._registers, self._pointers, len(TRAP_REGISTERS))
        return int(self._values[8])

    def arguments(self) -> list[int]:
        """a0 to a7 as they were taken down last."""
        return self._values[:8]

    def read(self, number: int) -> int:
        """Integer register x0..x31."""
        return int(self._uc.reg_read(reg.UC_RISCV_REG_X0 + number))

    def write(self, number: int, value: int) -> None:
        """Set integer register x1..x31 to the low 64 bits of ``value``."""
        self._register.value = value & U64
        UNDECLARED.uc_reg_write(self._handle, reg.UC_RISCV_REG_X0 + number, self._register_pointer)

    def save(self) -> Saved:
        """A copy of all registers."""
        return Saved(self._uc.context_save(), self._accrued_flags())

    def save_over(self, saved: Saved) -> None:
        """Copy all registers over an earlier copy."""
        self._uc.context_update(saved.context)
        saved.flags = self._accrued_flags()

    def restore(self, saved: Saved) -> None:
        """Set all registers from a copy."""
        self._uc.context_restore(saved.context)
        self._accrue_flags(saved.flags)

    def reset(self) -> None:
        """Set all registers as they were at the start."""
        self._uc.context_restore(self._pristine)
        self._accrue_flags(0)

    def _accrued_flags(self) -> int:
        UNDECLARED.uc_reg_read(self._handle, reg.UC_RISCV_REG_FFLAGS, self._register_pointer)
        return self._register.value

    def _accrue_flags(self, flags: int) -> None:
        self._register.value = flags
        UNDECLARED.uc_reg_write(self._handle, reg.UC_RISCV_REG_FFLAGS, self._register_pointer)

    def flush_tlb(self) -> None:
        """Forget all translations of addresses."""
        self._uc.ctl(const.UC_CTL_TLB_FLUSH, const.UC_CTL_IO_WRITE)

    def flush_code(self) -> None:
        """Forget all translated code."""
        self._uc.ctl_flush_tb()

    def set_exits(self, exits: Iterable[VA]) -> None:
        """Stop before executing what lies at ``exits``. Code that is translated already does not know."""
        self._uc.ctl_set_exits(list(exits))
