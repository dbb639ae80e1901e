"""Figures as PNG or SVG, by matplotlib. Imported only when one is asked for."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure as Canvas

from nexemu.lab.report import Figure

WIDTH, HEIGHT = 8.0, 4.5
"""Of each figure, in inches."""


def draw(title: str, figures: Sequence[Figure], path: Path) -> None:
    """Write ``figures`` to ``path``, one below the other."""
    canvas = Canvas(figsize=(WIDTH, HEIGHT * len(figures)), layout="constrained")
    canvas.suptitle(title)
    for figure, axes in zip(figures, canvas.subplots(len(figures), squeeze=False)[:, 0], strict=True):
        for name, values in figure.lines.items():
            axes.plot(figure.x, values, label=name, marker="o" if figure.marked else None)
        axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        axes.set_xscale("log" if figure.log_x else "linear")
        axes.set_yscale("log" if figure.log_y else "linear")
        axes.grid(alpha=0.3)
        axes.legend()
    canvas.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
