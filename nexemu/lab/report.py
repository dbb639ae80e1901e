"""What an experiment has to say: tables, values beside the lecture's, figures, and what to see in them.

An experiment computes; it neither prints nor draws. Whoever shows a report decides how.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from math import log
from typing import Final, TypeAlias

Cell: TypeAlias = str | int | float
Point: TypeAlias = tuple[float, float]

MOST_MARKED: Final = 20
MOST_SHAPES: Final = 2000

NARROWEST: Final = 0.04
"""Of an axis's length, between two of its numbers."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under ``columns``; the first column names the row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Check:
    """One value, and what the lecture has in its place: as it stands there, or what it says of it.
    ``why`` they differ, empty where they do not. ``measured``: on this computer, now."""

    what: str
    lecture: Cell
    ours: Cell
    why: str = ""
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A line for each of ``lines``, through its y values over ``x``; and, for each of ``points``, marks that
    nothing connects."""

    title: str
    x_label: str
    y_label: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    _: KW_ONLY
    points: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False

    @property
    def marked(self) -> bool:
        """Whether the points are few enough to show each."""
        return len(self.x) <= MOST_MARKED

    @property
    def ticks(self) -> list[float]:
        """Where the x axis should have its numbers: at the points, where there is room for all; else []."""
        places = [log(x) for x in self.x] if self.log_x else [float(x) for x in self.x]
        gaps = [abs(right - left) for left, right in pairwise(places)]
        room = gaps and min(gaps) >= NARROWEST * abs(places[-1] - places[0])
        return list(self.x) if room else []

    @property
    def names(self) -> list[str]:
        """The lines, the highest first, then the points."""
        return [*sorted(self.lines, key=lambda name: -sum(self.lines[name])), *self.points]

    @property
    def count(self) -> int:
        """How many ``points`` there are, of all names."""
        return sum(map(len, self.points.values()))

    @property
    def crowded(self) -> bool:
        """Whether the points are too many for their shapes to be told apart."""
        return self.count > MOST_SHAPES


@dataclass(frozen=True, slots=True)
class Report:
    """``see``: one or two sentences on what the numbers show."""

    see: str
    tables: Sequence[Table] = ()
    checks: Sequence[Check] = ()
    figures: Sequence[Figure] = ()


def text(cell: Cell) -> str:
    """A cell for people: whole numbers in full, others to about three digits.

    >>> text(13192), text(4.6249), text(45.84), text(1234.5), text(0.025), text("about 1/19")
    ('13,192', '4.62', '45.8', '1,234', '0.025', 'about 1/19')
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or abs(cell) >= 100:
        return f"{cell:,.0f}"
    if abs(cell) >= 10:
        return f"{cell:.1f}"
    return f"{cell:.2f}" if abs(cell) >= 1 else f"{cell:.3g}"


def number(value: float) -> str:
    """A number on an axis.

    >>> number(16384), number(100.0), number(0.05), number(2.5), number(1e6)
    ('16,384', '100', '0.05', '2.5', '1,000,000')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def like(ours: Cell, lecture: Cell) -> str:
    """Our value for people, as exact as the lecture's.

    >>> like(12.25, 12.25), like(35.21, 31.3), like(11.0, 11), like(13.94, 17), like(168, "")
    ('12.25', '35.2', '11', '13.9', '168')
    """
    if isinstance(ours, float) and isinstance(lecture, float):
        return f"{ours:,.{len(str(lecture).partition('.')[2])}f}"
    if isinstance(ours, float) and isinstance(lecture, int) and ours.is_integer():
        return f"{ours:,.0f}"
    return text(ours)


def said(lecture: Cell) -> str:
    """The lecture's value for people, as it stands there.

    >>> said(12.25), said(13192), said("close to 1")
    ('12.25', '13,192', 'close to 1')
    """
    return lecture if isinstance(lecture, str) else f"{lecture:,}"
