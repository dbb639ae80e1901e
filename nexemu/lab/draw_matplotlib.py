"""Figures as PNG or SVG, by matplotlib. Imported only when one is asked for."""

from collections.abc import Sequence
from itertools import cycle
from math import sqrt
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from nexemu.lab.report import Figure, number

WIDTH, HEIGHT = 8.0, 4.5
"""Of each figure, in inches."""
DOTS: Final = 150
"""An inch."""

MARKERS: Final = "os^DvPX*<>"
"""So that lines that lie on each other can be told apart, also without colours."""
MOST_INSIDE: Final = 4
"""Names that have room among what they name."""
SMALLEST, LARGEST = 1.5, 5.0
"""Of a marker, across, in points of 1/72 inch."""
ROOM: Final = 110.0
"""Points of this size have room, if there is one; of half of it, if there are four."""


def draw(title: str, figures: Sequence[Figure], path: Path) -> None:
    """Write ``figures`` to ``path``, one below the other."""
    canvas = Canvas(figsize=(WIDTH, HEIGHT * len(figures)), dpi=DOTS, layout="constrained")
    canvas.suptitle(title)
    for figure, axes in zip(figures, canvas.subplots(len(figures), squeeze=False)[:, 0], strict=True):
        _draw(figure, axes)
    canvas.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw(figure: Figure, axes: Axes) -> None:
    drawn = {}
    markers = cycle(MARKERS)
    for name, values in figure.lines.items():
        marker = next(markers) if figure.marked else None
        (drawn[name],) = axes.plot(figure.x, values, label=name, marker=marker, markersize=LARGEST)
    for name, points in figure.points.items():
        marker = "o" if figure.crowded else next(markers)
        (drawn[name],) = axes.plot(*zip(*points, strict=True), marker, label=name, **_points(figure))
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    axes.set_xscale("log" if figure.log_x else "linear")
    axes.set_yscale("log" if figure.log_y else "linear")
    _write_numbers(axes.xaxis, figure.log_x, figure.ticks)
    _write_numbers(axes.yaxis, figure.log_y, [])
    axes.grid(alpha=0.3)
    outside = len(figure.names) > MOST_INSIDE
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if outside else {"loc": "best"}
    legend = axes.legend([drawn[name] for name in figure.names], figure.names, **place)
    for line in legend.get_lines():
        line.set_markersize(LARGEST)


def _points(figure: Figure) -> dict[str, Any]:
    """How points look: the smaller, the more there are; a crowd is an image in an SVG."""
    size = max(SMALLEST, min(LARGEST, ROOM / sqrt(figure.count)))
    return {"markersize": size, "markeredgewidth": 0, "rasterized": figure.crowded}


def _write_numbers(axis: Axis, is_log: bool, ticks: Sequence[float]) -> None:
    """Plain numbers, not powers of ten; at ``ticks`` where there are any."""
    axis.set_major_formatter(FuncFormatter(lambda value, _place: number(value)))
    if ticks:
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
    elif is_log:
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
