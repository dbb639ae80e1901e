"""What each process had of memory, told from the events of a run.

A :class:`Life` is what a process is between one exec and the next: only there does an address mean the
same page. A forked child begins with the heap of its parent.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from nexemu.events import Event, Exec, Exit, Fork, PageFault, Sbrk
from nexemu.riscv import PGSHIFT, VA, pgroundup

FIRST: Final = "init"
"""The process that is there when a trace begins."""


@dataclass(slots=True, eq=False)
class Life:
    """``base``: the break with which it began, None until an event tells. ``reserved`` is how many pages sbrk
    has promised since, ``mapped`` how many of them came into being, ``faults`` how often it faulted, by kind.
    A page that was swapped out is still mapped here: no event says that it left."""

    pid: int
    name: str
    base: VA | None = None
    reserved: int = 0
    mapped: int = 0
    most_reserved: int = 0
    faults: Counter[str] = field(default_factory=Counter)


class Change(NamedTuple):
    """What one event did to a life: so many pages more reserved and mapped, and, if it was a page fault, of
    what ``kind``, in which virtual ``page``, and on whose behalf. Otherwise these are empty."""

    life: Life
    reserved: int
    mapped: int
    kind: str = ""
    page: int = 0
    by: str = ""


def changes(events: Iterable[Event]) -> Iterator[Change]:
    """Everything that ``events`` changed, in their order."""
    living: dict[int, Life] = {}
    for event in events:
        match event:
            case PageFault():
                yield _fault(_living(living, event.pid), event)
            case Sbrk():
                yield _sbrk(_living(living, event.pid), event)
            case Fork():
                living[event.child] = child = _forked(_living(living, event.parent), event.child)
                yield Change(child, child.reserved, child.mapped)
            case Exec():
                yield _end(_living(living, event.pid))
                living[event.pid] = Life(event.pid, event.path.rpartition("/")[2], event.size)
            case Exit():
                yield _end(_living(living, event.pid))
                del living[event.pid]


def _living(living: dict[int, Life], pid: int) -> Life:
    if pid not in living:
        living[pid] = Life(pid, FIRST)
    return living[pid]


def _forked(parent: Life, child: int) -> Life:
    return Life(child, parent.name, parent.base, parent.reserved, parent.mapped, parent.reserved)


def _fault(life: Life, event: PageFault) -> Change:
    is_new = event.kind == "lazy"
    life.mapped += is_new
    life.faults[event.kind] += 1
    return Change(life, 0, int(is_new), event.kind, event.va >> PGSHIFT, event.by)


def _sbrk(life: Life, event: Sbrk) -> Change:
    if life.base is None:
        life.base = event.old
    reserved = max(0, pgroundup(event.new) - pgroundup(life.base)) >> PGSHIFT
    mapped = max(0, life.mapped + event.mapped - event.freed)
    change = Change(life, reserved - life.reserved, mapped - life.mapped)
    life.reserved, life.mapped = reserved, mapped
    life.most_reserved = max(life.most_reserved, reserved)
    return change


def _end(life: Life) -> Change:
    return Change(life, -life.reserved, -life.mapped)
