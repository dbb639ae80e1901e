"""Count what happened, for each process and in all.

Owns nothing but numbers. Each is the sum of one measure over the events of one process, and a
measure is a tuple: what is counted, and of which kind. So ``counters.total()[FAULT, "lazy", "user"]``
is how many lazy pages programs touched themselves.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from nexemu.events import BadAccess, Event, Exec, Exit, Fork, PageFault, Reap, Sbrk, Switch, Syscall, Turn
from nexemu.riscv import PGSHIFT, U64, pgroundup

Measure: TypeAlias = tuple[str, ...]

FAULT: Final = "fault"  # with its kind, and "user" or "kernel"
CALL: Final = "call"  # with the system call's name
FAILED: Final = "failed call"  # with the system call's name

EVENTS: Final[Measure] = ("event",)
BAD_ACCESSES: Final[Measure] = ("bad access",)
FORKS: Final[Measure] = ("fork",)
SHARED: Final[Measure] = ("page shared by fork",)
COPIED: Final[Measure] = ("page copied by fork",)
PROMISED: Final[Measure] = ("page promised by sbrk",)
MAPPED: Final[Measure] = ("page mapped by sbrk",)
FREED: Final[Measure] = ("page freed by sbrk",)
SWITCHES: Final[Measure] = ("switch to",)
RAN: Final[Measure] = ("cycles on the hart",)
WAITED: Final[Measure] = ("cycles ready, without the hart",)

MINUS_ONE: Final = frozenset({-1, U64})  # as a number, and as a register shows it


def owner(event: Event) -> int:
    """The pid that an event is counted for."""
    match event:
        case Fork() | Reap():
            return event.parent
        case Switch():
            return event.after
        case _:
            return event.pid


def measures(event: Event) -> Iterator[tuple[Measure, int]]:
    """What ``event`` adds to which measure."""
    yield EVENTS, 1
    match event:
        case PageFault():
            yield (FAULT, event.kind, event.by), 1
        case BadAccess():
            yield BAD_ACCESSES, 1
        case Syscall():
            yield (CALL, event.name), 1
            yield (FAILED, event.name), int(event.result in MINUS_ONE)
        case Fork():
            yield FORKS, 1
            yield SHARED, event.pages_shared
            yield COPIED, event.pages_copied
        case Sbrk():
            yield PROMISED, max(0, pgroundup(event.new) - pgroundup(event.old)) >> PGSHIFT
            yield MAPPED, event.mapped
            yield FREED, event.freed
        case Switch():
            yield SWITCHES, 1
        case Turn():
            yield RAN, event.end - event.start
            yield WAITED, event.start - event.ready


class Life(NamedTuple):
    """When a process could run first, when it did, and when it last left the hart, in cycles."""

    born: int
    began: int
    ended: int


class Counters:
    """An emitter that counts. ``by_pid`` is in the order in which processes first did something; ``names``
    are those of their programs, ``statuses`` those with which they exited, ``lives`` when each ran."""

    __slots__ = ("by_pid", "lives", "names", "statuses")

    def __init__(self) -> None:
        self.by_pid: dict[int, Counter[Measure]] = {}
        self.names: dict[int, str] = {}
        self.statuses: dict[int, int] = {}
        self.lives: dict[int, Life] = {}

    def __call__(self, event: Event) -> None:
        counts = self.by_pid.setdefault(owner(event), Counter())
        for measure, count in measures(event):
            if count:
                counts[measure] += count
        self._note_name(event)

    def _note_name(self, event: Event) -> None:
        match event:
            case Turn():
                life = self.lives.setdefault(event.pid, Life(event.ready, event.start, event.end))
                self.lives[event.pid] = life._replace(ended=event.end)
            case Exec():
                self.names[event.pid] = event.path.rpartition("/")[2]
            case Fork():
                self.names[event.child] = self.names.get(event.parent, "")
            case Exit():
                self.names[event.pid] = event.name
                self.statuses[event.pid] = event.status

    def total(self) -> Counter[Measure]:
        """The sums over all processes."""
        counts: Counter[Measure] = Counter()
        for of_one in self.by_pid.values():
            counts.update(of_one)
        return counts


def kinds(counts: Counter[Measure], what: str) -> list[str]:
    """The kinds of ``what`` that were counted, in alphabetical order."""
    return sorted({measure[1] for measure in counts if measure[0] == what})


def sum_of(counts: Counter[Measure], what: str) -> int:
    """All kinds of ``what`` together."""
    return sum(count for measure, count in counts.items() if measure[0] == what)
