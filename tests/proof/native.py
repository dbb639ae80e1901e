"""Unicorn's own Sv39 walker: a hart that finds its translations in our page tables by itself.

``satp`` points at the tables in RAM, user mode runs behind them, and nothing of ours is asked
until Unicorn reports a page fault. It does not say at which address; the instruction does.

The RISC-V Instruction Set Manual, Volume I: chapters "RV32I", "A", "F", "D" and "C" for the formats.
"""

from typing import NamedTuple

from unicorn import Uc, UcError
from unicorn import riscv_const as reg
from unicorn import unicorn_const as const

from nexemu.errors import GuestError
from nexemu.machine.hart import Trap
from nexemu.machine.registers import Context
from nexemu.mem.usercopy import copyin
from nexemu.riscv import PGMASK, U64, Access, Cause

MACHINE_MODE, USER_MODE = 3, 0
FS_INITIAL = 1 << 13
SV39 = 8 << 60
ACCESS_OF = {12: Access.FETCH, 13: Access.READ, 15: Access.WRITE}
PATIENCE = 4
"""How often one instruction may fault: twice for its own bytes, twice for what it touches."""


class Walker:
    """A core in user mode on ``ram``, whose translations are those of the tables at ``use``'s root."""

    def __init__(self, ram):
        self.ram = ram
        self.uc = Uc(const.UC_ARCH_RISCV, const.UC_MODE_RISCV64)
        self.uc.mem_map_ptr(ram.base, ram.size, const.UC_PROT_ALL, ram.host_address())
        self.uc.ctl_exits_enabled(True)
        self.uc.ctl_set_exits([])
        self.uc.reg_write(reg.UC_RISCV_REG_MSTATUS, FS_INITIAL)
        self.uc.hook_add(const.UC_HOOK_INTR, self._on_exception)
        self.cause = None

    def _on_exception(self, uc, number, _data):
        self.cause = number
        uc.emu_stop()

    def use(self, root):
        self.uc.reg_write(reg.UC_RISCV_REG_PRIV, MACHINE_MODE)
        self.uc.reg_write(reg.UC_RISCV_REG_SATP, SV39 | root >> 12)
        self.uc.reg_write(reg.UC_RISCV_REG_PRIV, USER_MODE)
        self.flush()

    def flush(self):
        self.uc.ctl(const.UC_CTL_TLB_FLUSH, const.UC_CTL_IO_WRITE)

    def flush_code(self):
        self.uc.ctl_flush_tb()

    def start(self, pc, instructions=0):
        """Run until an exception, whose cause is returned, or None. A breakpoint is reported by UcError."""
        self.cause = None
        try:
            self.uc.emu_start(pc, 0, 0, instructions)
        except UcError as error:
            if self.cause is None and error.errno != const.UC_ERR_INSN_INVALID:
                raise
            self.cause = Cause.BREAKPOINT if self.cause is None else self.cause
            return self.cause
        return self.cause

    @property
    def pc(self):
        """Where it stopped: on the instruction, behind an ecall. Unicorn adds 4 to it for every exception."""
        pc = self.uc.reg_read(reg.UC_RISCV_REG_PC)
        is_on_it = self.cause in (None, Cause.BREAKPOINT, Cause.USER_ECALL)
        return pc if is_on_it else (pc - 4) & U64

    def read(self, number):
        return self.uc.reg_read(reg.UC_RISCV_REG_X0 + number)

    def write(self, number, value):
        self.uc.reg_write(reg.UC_RISCV_REG_X0 + number, value & U64)


class NativeHart:
    """As nexemu.machine.hart.Hart, on a Walker."""

    def __init__(self, ram):
        self.core = Walker(ram)
        self.core.use(0)
        self._pristine = self.core.uc.context_save()
        self._loaded = None
        self._code_epoch = -1
        self._arguments = []
        self.faults = 0
        self.executed = 0  # instructions that were counted

    def new_context(self):
        self._unload()
        self.core.uc.context_restore(self._pristine)
        return Context(self.core.uc.context_save(), 0)

    def fork_context(self, context):
        self._load(context)
        return Context(self.core.uc.context_save(), context.pc)

    def read_register(self, context, number):
        self._load(context)
        return self.core.read(number)

    def write_register(self, context, number, value):
        self._load(context)
        self.core.write(number, value)

    def arguments(self):
        return self._arguments

    def _load(self, context):
        if context is not self._loaded:
            self._unload()
            self.core.uc.context_restore(context.saved)
            self._loaded = context

    def _unload(self):
        if self._loaded is not None:
            self.core.uc.context_update(self._loaded.saved)
            self._loaded = None

    def run(self, space, context, _budget, serve=None):
        """Instructions are not counted: a fault would lose count of them."""
        trap = self._run(space, context)
        if trap.cause == Cause.USER_ECALL and serve is not None:
            serve()
        return trap

    def _run(self, space, context):
        self._load(context)
        self.core.uc.ctl_set_exits(list(space.forbidden))
        self.core.use(space.table.root)
        self.core.flush_code()
        pc, before, repeated = context.pc, None, 0
        while True:
            cause = self.core.start(pc)
            pc = context.pc = self.core.pc
            if cause not in ACCESS_OF:
                return self._trap(context, cause, space.forbidden)
            self.faults += 1
            want = self._wanted(space, pc, cause)
            repeated = repeated + 1 if (pc, want) == before else 1
            before = pc, want
            assert repeated <= PATIENCE, f"cause {cause} at {pc:#x} again, though translate() has allowed it"
            trap = self._resolve(space, pc, cause, want)
            if trap is not None:
                return trap
            self.core.flush()
            if space.code_epoch > self._code_epoch:
                self.core.flush_code()
                self._code_epoch = space.code_epoch

    def _trap(self, context, cause, forbidden):
        self._arguments = [self.core.read(10 + number) for number in range(8)]
        if cause is None:
            assert context.pc in forbidden, "stopped for no reason"
            return Trap(Cause.ILLEGAL_INSTRUCTION, context.pc)
        epc = context.pc - 4 if cause == Cause.USER_ECALL else context.pc
        return Trap(cause, epc)

    def _wanted(self, space, pc, cause):
        """The bytes that the instruction at ``pc`` could not have: its own, or those that it wants."""
        if cause == Cause.INSTRUCTION_PAGE_FAULT:
            return Wanted(pc, 4 if pc & PGMASK == PGMASK - 1 else 2)
        return wanted(self._instruction(space, pc), self.core.read)

    def _resolve(self, space, pc, cause, want):
        """Make the pages usable; a Trap when one cannot be."""
        last = (want.va + want.size - 1) & U64
        crosses = last & ~PGMASK != want.va & ~PGMASK
        for first in (want.va, last & ~PGMASK) if crosses else (want.va,):
            try:
                space.translate(first, ACCESS_OF[cause])
            except GuestError as error:
                return Trap(cause, pc, first, error)
        return None

    def _instruction(self, space, pc):
        word = int.from_bytes(copyin(space, pc, 2), "little")
        if word & 3 == 3:
            word |= int.from_bytes(copyin(space, pc + 2, 2), "little") << 16
        return word


class Wanted(NamedTuple):
    va: int
    size: int


def wanted(word, register):
    """The memory that a load, a store or an atomic at hand wants."""
    if word & 3 != 3:
        base, offset, size = compressed(word)
    else:
        base, size = word >> 15 & 31, 1 << (word >> 12 & 3)
        opcode = word & 0x7F
        if opcode in (0x03, 0x07):
            offset = signed(word >> 20, 12)
        elif opcode in (0x23, 0x27):
            offset = signed(word >> 25 << 5 | word >> 7 & 31, 12)
        else:
            assert opcode == 0x2F, f"{word:#x} touches no memory"
            offset = 0
    return Wanted((register(base) + offset) & U64, size)


def compressed(word):
    """Base register, offset and size of a compressed load or store."""
    quadrant, kind = word & 3, word >> 13
    assert quadrant in (0, 2), f"{word:#x} touches no memory"
    assert kind in (1, 2, 3, 5, 6, 7), f"{word:#x} touches no memory"
    size = 4 if kind in (2, 6) else 8
    if quadrant == 0:
        high = bits(word, 5, 1) << 6 | bits(word, 6, 1) << 2 if size == 4 else bits(word, 5, 2) << 6
        return 8 + bits(word, 7, 3), bits(word, 10, 3) << 3 | high, size
    if kind < 4 and size == 4:
        return 2, bits(word, 12, 1) << 5 | bits(word, 4, 3) << 2 | bits(word, 2, 2) << 6, size
    if kind < 4:
        return 2, bits(word, 12, 1) << 5 | bits(word, 5, 2) << 3 | bits(word, 2, 3) << 6, size
    if size == 4:
        return 2, bits(word, 9, 4) << 2 | bits(word, 7, 2) << 6, size
    return 2, bits(word, 10, 3) << 3 | bits(word, 7, 3) << 6, size


def bits(word, at, count):
    return word >> at & (1 << count) - 1


def signed(number, width):
    return number - (1 << width) if number >> width - 1 else number
