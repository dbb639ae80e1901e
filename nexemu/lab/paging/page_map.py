"""A run's page faults as a picture: which page was touched when, and what was only promised.

The pages are numbered in the order of their addresses, those that nobody touched left out: an address space
is nearly empty, and drawn to scale it would be a few specks on a blank sheet.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

from nexemu.errors import OperatorError
from nexemu.lab.paging.lives import Change, Life
from nexemu.lab.report import Cell, Figure, Point, Report, Table

KINDS: Final[Mapping[str, str]] = {
    "lazy": "lazy",
    "cow-reuse": "reused",
    "cow-copy": "copied",
    "mmap": "mmap",
    "swap": "swap",
}
"""The kinds of page faults, and what is said of such a page. Later ones are drawn over earlier ones."""

TAKE_A_FRAME: Final = frozenset({"lazy", "cow-copy", "mmap"})

ORDER: Final = "page faults, in order"
OWN_ORDER: Final = "page faults outside of system calls, in order"


@dataclass(frozen=True, slots=True)
class Choice:
    """Whose page faults are drawn: those of all processes of that name; without one, of the process that has
    the most. ``pid``: of this process only. ``last``: only so many page faults, to look closely."""

    pid: int | None = None
    name: str | None = None
    last: int | None = None


class Fault(NamedTuple):
    """A page fault, the ``number``-th of the chosen processes; what they together had reserved and mapped
    after it, and how many frames their page faults had taken by then."""

    number: int
    kind: str
    page: int
    by: str
    reserved: int
    mapped: int
    taken: int


def page_map(history: Sequence[Change], choice: Choice) -> Report:
    """All processes that page-faulted in a table, and the chosen ones in figures. Raises OperatorError where
    there is nothing to show."""
    lives = list(dict.fromkeys(change.life for change in history))
    if not any(life.faults for life in lives):
        raise OperatorError("the trace has no page fault: run the program with lazy sbrk or copy-on-write")
    family = choose(lives, choice)
    title, is_shared = _title(family), len(family) > 1
    faults = list(_faults(history, set(family)))
    if not faults:
        raise OperatorError(f"{title}: it has no page fault; choose a process that has")
    faults = faults if choice.last is None else faults[-choice.last :]
    return Report(
        _see(title, faults[-1], is_shared),
        [_table([life for life in lives if life.faults])],
        figures=[*_maps(title, faults), _heap(title, faults, is_shared)],
    )


def choose(lives: Sequence[Life], choice: Choice) -> list[Life]:
    """The lives that are meant by ``choice``. Raises OperatorError where there is none."""
    of_pid = [life for life in lives if choice.pid in {None, life.pid}]
    if not of_pid:
        pids = [life.pid for life in lives]
        raise OperatorError(f"--pid {choice.pid}: the trace has pids from {min(pids)} to {max(pids)}")
    if choice.name is None:
        return [max(of_pid, key=lambda life: life.faults.total())]
    family = [life for life in of_pid if life.name == choice.name]
    if not family:
        names = list(dict.fromkeys(life.name for life in of_pid))
        close = get_close_matches(choice.name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there is {', '.join(names)}"
        raise OperatorError(f"--name {choice.name}: no process of that name; {hint}")
    return family


def _title(family: Sequence[Life]) -> str:
    first, *others = family
    return f"{first.name}, {len(family)} processes" if others else f"{first.name}, pid {first.pid}"


def _faults(history: Sequence[Change], family: Collection[Life]) -> Iterator[Fault]:
    number = reserved = mapped = taken = 0
    for change in history:
        if change.life in family:
            reserved += change.reserved
            mapped += change.mapped
            if change.kind:
                number += 1
                taken += change.kind in TAKE_A_FRAME
                yield Fault(number, change.kind, change.page, change.by, reserved, mapped, taken)


def _see(title: str, last: Fault, is_shared: bool) -> str:
    heap = f"{last.reserved:,} pages of the heap were reserved by sbrk, {last.mapped:,} of them mapped"
    rest = f"; the other {last.reserved - last.mapped:,} cost nothing" if last.reserved > last.mapped else ""
    shared = f" Since pages were shared, {last.taken:,} frames were enough until then." if is_shared else ""
    return f"{title}: at the last page fault, {heap}{rest}.{shared}"


def _table(lives: Sequence[Life]) -> Table:
    rows: list[Sequence[Cell]] = [
        (life.name, str(life.pid), life.most_reserved, *(life.faults[kind] for kind in KINDS))
        for life in sorted(lives, key=lambda life: life.pid)
    ]
    columns = ("program", "pid", "reserved", *KINDS.values())
    return Table("Pages that sbrk reserved at most, and page faults", columns, rows)


def _maps(title: str, faults: Sequence[Fault]) -> Iterator[Figure]:
    """All page faults; and apart, if system calls took most of them, those that the program took itself:
    reading a file into memory touches thousands of pages, and dwarfs all that it does with them."""
    yield _map(f"Page map of {title}", ORDER, [(fault.number, fault) for fault in faults])
    own = [fault for fault in faults if fault.by == "user"]
    if own and len(own) < len(faults) / 2:
        yield _map("The same, without what system calls touched", OWN_ORDER, list(enumerate(own, start=1)))


def _map(title: str, x_label: str, faults: Sequence[tuple[int, Fault]]) -> Figure:
    pages = sorted({fault.page for _, fault in faults})
    row_of = {page: row for row, page in enumerate(pages, start=1)}
    points: dict[str, list[Point]] = {kind: [] for kind in KINDS}
    for number, fault in faults:
        points.setdefault(fault.kind, []).append((number, row_of[fault.page]))
    shown = {KINDS.get(kind, kind): of_kind for kind, of_kind in points.items() if of_kind}
    return Figure(title, x_label, "touched pages, by address", [], {}, points=shown)


def _heap(title: str, faults: Sequence[Fault], is_shared: bool) -> Figure:
    """Reserved and mapped pages. Processes that share them count each for itself; the frames do not."""
    lines = {
        "reserved by sbrk": [fault.reserved for fault in faults],
        "mapped": [fault.mapped for fault in faults],
    }
    if is_shared:
        lines["frames taken so far"] = [fault.taken for fault in faults]
    return Figure(f"Heap of {title}", ORDER, "pages", [fault.number for fault in faults], lines)
