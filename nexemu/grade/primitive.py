"""The primitives by number: what a handler can ask of the machine, wherever the handler runs.

A handler in the same process asks :class:`~nexemu.grade.student.primitives.Primitives` directly; one
in a sandbox asks it through a pipe. Both speak in these words and in 64-bit numbers.
"""

from enum import IntEnum
from typing import Protocol


class Op(IntEnum):
    """Each is a method or a property of :class:`nexemu.grade.kit.Space`, which has its contract."""

    PID = 0
    SIZE = 1
    SET_SIZE = 2
    LIMIT = 3
    WALK = 4
    SETPTE = 5
    PAGES = 6
    MAPPAGES = 7
    UVMUNMAP = 8
    SFENCE_VMA = 9
    KALLOC = 10
    KFREE = 11
    INCREF = 12
    REFCOUNT = 13
    MEMSET = 14
    MEMMOVE = 15


class Function(IntEnum):
    """What a handler consists of, in the order of the lab."""

    SBRK = 0
    PAGE_FAULT = 1
    PREPARE_COPYIN = 2
    PREPARE_COPYOUT = 3
    FORK_COPY = 4
    RELEASE = 5

    @property
    def called(self) -> str:
        """The function's name in handler.py."""
        return self.name.lower()


class Kernel(Protocol):
    """Whoever carries the primitives out. ``handle`` says on which space; a refused one raises GuestError
    where the guest is at fault, KernelPanic where the handler is."""

    def number(self, op: Op, handle: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
        """Carry ``op`` out; its result, 0 where it has none."""

    def numbers(self, op: Op, handle: int, a: int, b: int) -> list[int]:
        """The same for PAGES, whose result is many numbers."""
