"""The shape of a system call: a function of the machine, the calling process and the arguments.

It returns the value for a0. One that must wait is written as a generator: it yields the channel
that it waits on, goes on when that channel was woken, and returns the value in the end. Raising a
GuestError makes the call return -1.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from nexemu.proc.proc import KernelStack

Handler: TypeAlias = Callable[..., int | KernelStack]
"""``handler(machine, proc, *arguments)``, the arguments as the call's row in abi.py types them."""


class Call(NamedTuple):
    """A call that can be made: its name, its handler, and how each argument register is read."""

    name: str
    handler: Handler
    readers: tuple[Callable[[int], int], ...]
