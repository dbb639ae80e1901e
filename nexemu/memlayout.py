"""Where things lie: physical memory, and the layout of a user address space.

User memory, from the bottom: text (R X), data and bss (R W), one guard page (mapped, but
without U), one stack page, the heap up to the break; then nothing; then mmap areas, placed
top-down below TRAPFRAME.

xv6: kernel/memlayout.h; ABI.md section 2
"""

from typing import Final

from nexemu.riscv import MAXVA, PGSIZE

KERNBASE: Final = 0x8000_0000
"""The physical address where RAM begins, as on QEMU's ``virt`` board."""

KERNEL_PAGES: Final = 256
"""Frames at the start of RAM that count as the kernel itself and are never handed out."""

TRAMPOLINE: Final = MAXVA - PGSIZE
"""The highest user page: R X without U, one frame that every process shares."""

TRAPFRAME: Final = TRAMPOLINE - PGSIZE
"""R W without U, one frame a process; the break and mmap areas end here."""
