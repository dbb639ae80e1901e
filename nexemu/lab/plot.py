"""Figures to files. The libraries that draw are optional, and imported only when there is something to
draw."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from nexemu.errors import OperatorError
from nexemu.lab.report import Figure, Report

DRAWERS: Final[Mapping[str, str]] = {
    ".png": "nexemu.lab.draw_matplotlib",
    ".svg": "nexemu.lab.draw_matplotlib",
    ".html": "nexemu.lab.draw_plotly",
}
"""The module whose ``draw(title, figures, path)`` writes files that end so."""


def check_can_plot(path: Path) -> None:
    """Raises OperatorError where ``path`` cannot become a plot, before any time goes into computing one."""
    if path.suffix not in DRAWERS:
        raise OperatorError(f"--plot {path}: the name ends in {', '.join(DRAWERS)}")
    if not path.absolute().parent.is_dir():
        raise OperatorError(f"--plot {path}: there is no folder {path.parent}")
    _drawer(path)


def plot(name: str, report: Report, path: Path) -> None:
    """Draw the figures of an experiment's report, one below the other. Raises OperatorError."""
    if not report.figures:
        raise OperatorError(f"{name} has no figure to plot; its tables say it all")
    draw(f"nexemu lab {name}", report.figures, path)


def draw(title: str, figures: Sequence[Figure], path: Path) -> None:
    """Draw ``figures``, one below the other, under a title. Raises OperatorError."""
    try:
        _drawer(path).draw(title, figures, path)
    except OSError as error:
        raise OperatorError(f"--plot {path}: {error.strerror}") from error


def _drawer(path: Path) -> ModuleType:
    try:
        return import_module(DRAWERS[path.suffix])
    except ModuleNotFoundError as error:
        message = f"--plot {path} needs {error.name}: {sys.executable} -m pip install 'nexemu[plot]'"
        raise OperatorError(message) from error
