"""Figures as PNG or SVG, by matplotlib. Imported only when one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

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
"""Lines whose names have room among the lines."""


def draw(title: str, figures: Sequence[Figure], path: Path) -> None:
    """Write ``figures`` to ``path``, one below the other."""
    canvas = Canvas(figsize=(WIDTH, HEIGHT * len(figures)), dpi=DOTS, layout="constrained")
    canvas.suptitle(title)
    for figure, axes in zip(figures, canvas.subplots(len(figures), squeeze=False)[:, 0], strict=True):
        _draw(figure, axes)
    canvas.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw(figure: Figure, axes: Axes) -> None:
    drawn = {}
    for number_of_it, (name, values) in enumerate(figure.lines.items()):
        marker = MARKERS[number_of_it % len(MARKERS)] if figure.marked else None
        (drawn[name],) = axes.plot(figure.x, values, label=name, marker=marker, markersize=5)
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    axes.set_xscale("log" if figure.log_x else "linear")
    axes.set_yscale("log" if figure.log_y else "linear")
    _write_numbers(axes.xaxis, figure.log_x, figure.ticks)
    _write_numbers(axes.yaxis, figure.log_y, [])
    axes.grid(alpha=0.3)
    outside = len(figure.lines) > MOST_INSIDE
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if outside else {"loc": "best"}
    axes.legend([drawn[name] for name in figure.names], figure.names, **place)


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
