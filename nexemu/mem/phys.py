"""Guest RAM: one anonymous host mapping that Python owns.

The kernel reads and writes it as bytes and as 64-bit words; the hart maps the same memory
into Unicorn by its host address. Nothing is copied between the two, so a PTE that the kernel
stores is the PTE that a page-table walk finds.

xv6: the RAM that QEMU's ``virt`` board puts at KERNBASE
"""

import ctypes
import mmap

from nexemu.errors import OperatorError
from nexemu.memlayout import KERNBASE, KERNEL_PAGES
from nexemu.riscv import PA, PGSIZE

ZERO_PAGE = bytes(PGSIZE)


class PhysicalMemory:
    """``size`` bytes of RAM at ``base``; ``size`` is a multiple of the page size."""

    __slots__ = ("base", "bytes", "first_word", "size", "words", "_mapping")

    def __init__(self, size: int, base: PA = KERNBASE) -> None:
        least = (KERNEL_PAGES + 64) * PGSIZE
        if size < least or size % PGSIZE:
            raise OperatorError(f"memory of {size} bytes: give a multiple of 4096, at least {least}")
        self.base = base
        self.size = size
        self.first_word = base >> 3
        try:
            self._mapping = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError) as error:
            raise OperatorError(f"memory of {size} bytes: this computer cannot give it ({error})") from error
        if hasattr(mmap, "MADV_HUGEPAGE"):  # 512 first touches cost the host one fault, not 512
            self._mapping.madvise(mmap.MADV_HUGEPAGE)
        self.bytes = memoryview(self._mapping)
        self.words = self.bytes.cast("Q")

    @property
    def end(self) -> PA:
        """One beyond the last byte."""
        return self.base + self.size

    def host_address(self) -> int:
        """Where the host keeps the first byte; valid as long as this object lives."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._mapping))

    def read(self, pa: PA, count: int) -> bytes:
        """A copy of ``count`` bytes at ``pa``."""
        start = pa - self.base
        return bytes(self.bytes[start : start + count])

    def write(self, pa: PA, data: bytes | memoryview) -> None:
        """Store ``data`` at ``pa``."""
        start = pa - self.base
        self.bytes[start : start + len(data)] = data

    def copy_page(self, source: PA, target: PA) -> None:
        """Copy one frame onto another."""
        self._mapping.move(target - self.base, source - self.base, PGSIZE)
