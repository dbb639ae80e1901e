"""Unicorn with as little around it as a loop needs: the floor that the hart is measured against.

No kernel, no page table, no process. It is written the way a first program with Unicorn is
written, through the public Python interface, so that a ratio says what the machine costs beyond
the engine that it stands on. Addresses are physical ones.
"""

from collections.abc import Mapping
from typing import Any

from unicorn import Uc
from unicorn import riscv_const as reg
from unicorn import unicorn_const as const

from nexemu.machine.engine import FS_INITIAL, Ram
from nexemu.riscv import PA


class BareMachine:
    """A RISC-V engine on ``ram`` that stops at each ecall. With ``empty_fill``, each TLB miss calls a hook
    that does nothing but say that the page is where it is; without, Unicorn fills its TLB itself."""

    def __init__(self, ram: Ram, empty_fill: bool = False) -> None:
        self._ram = ram  # Unicorn uses its bytes: they must live as long as the engine
        self._uc = Uc(const.UC_ARCH_RISCV, const.UC_MODE_RISCV64)
        self._uc.mem_map_ptr(ram.base, ram.size, const.UC_PROT_ALL, ram.host_address())
        self._uc.ctl_exits_enabled(True)
        self._uc.ctl_set_exits([])
        self._uc.reg_write(reg.UC_RISCV_REG_MSTATUS, FS_INITIAL)
        self._uc.hook_add(const.UC_HOOK_INTR, _stop)
        if empty_fill:
            self._uc.ctl_set_tlb_mode(const.UC_TLB_VIRTUAL)
            self._uc.hook_add(const.UC_HOOK_TLB_FILL, _fill)

    def set_registers(self, values: Mapping[int, int]) -> None:
        """Set integer registers, by their numbers."""
        for number, value in values.items():
            self._uc.reg_write(reg.UC_RISCV_REG_X0 + number, value)

    def read_register(self, number: int) -> int:
        """Integer register x0..x31."""
        return int(self._uc.reg_read(reg.UC_RISCV_REG_X0 + number))

    @property
    def pc(self) -> PA:
        """Where it goes on: behind the ecall that it stopped at."""
        return int(self._uc.reg_read(reg.UC_RISCV_REG_PC))

    def run(self, pc: PA) -> None:
        """Run from ``pc`` up to the next ecall. Raises UcError when the code goes wrong."""
        self._uc.emu_start(pc, 0)

    def flush_tlb(self) -> None:
        """Forget all translations: the next access to each page misses."""
        self._uc.ctl(const.UC_CTL_TLB_FLUSH, const.UC_CTL_IO_WRITE)


def _stop(uc: Uc, _number: int, _data: object) -> None:
    uc.emu_stop()


def _fill(_uc: Uc, va: int, _access: int, entry: Any, _data: object) -> bool:
    entry.paddr = va
    entry.perms = const.UC_PROT_ALL
    return True
