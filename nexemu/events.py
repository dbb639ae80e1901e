"""What happens in the machine, as values.

Every room may emit an event; floor 5 listens (counters, traces, reports, the grader). An
emitter is ``None`` where nobody listens, so that an unwatched machine pays one comparison:

    if emit is not None:
        emit(PageFault(...))

Events are named tuples: immutable, comparable, and made in a third of the time of a frozen
dataclass. No event carries host time: the same run gives the same events.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias


class PageFault(NamedTuple):
    """``vmfault`` made a page usable. ``kind``: lazy, cow-copy, cow-reuse, mmap, swap."""

    pid: int
    kind: str
    va: int
    access: str
    pte_before: int
    pte_after: int
    by: str  # "user", or "kernel" when a system call touched the page


class BadAccess(NamedTuple):
    """A fault that could not be resolved; the process dies of it."""

    pid: int
    name: str
    cause: int
    sepc: int
    stval: int
    instruction: str
    why: str


class Syscall(NamedTuple):
    """A system call returned. ``args`` are as the kernel read them, ``result`` as a0 shows it."""

    pid: int
    name: str
    args: tuple[int, ...]
    result: int


class Fork(NamedTuple):
    """``pages_shared`` frames gained an owner, ``pages_copied`` were copied."""

    parent: int
    child: int
    pages_shared: int
    pages_copied: int


class Exec(NamedTuple):
    pid: int
    path: str
    entry: int
    size: int


class Exit(NamedTuple):
    pid: int
    name: str
    status: int


class Reap(NamedTuple):
    parent: int
    child: int


class Sbrk(NamedTuple):
    """``mapped`` and ``freed`` count pages that changed now, not the pages that were promised."""

    pid: int
    old: int
    new: int
    mapped: int
    freed: int


class Switch(NamedTuple):
    """The hart went from one process to another at virtual time ``cycles``."""

    cycles: int
    before: int
    after: int


class Turn(NamedTuple):
    """``pid`` could run from ``ready`` on, and had the hart from ``start`` to ``end``, in cycles."""

    pid: int
    ready: int
    start: int
    end: int


Event: TypeAlias = PageFault | BadAccess | Syscall | Fork | Exec | Exit | Reap | Sbrk | Switch | Turn
Emit: TypeAlias = Callable[[Event], None]

HEXADECIMAL: Final = frozenset({"va", "pte_before", "pte_after", "sepc", "stval", "entry", "old", "new"})
"""Fields that hold an address or a PTE, whichever event they belong to; people read them in hexadecimal."""
