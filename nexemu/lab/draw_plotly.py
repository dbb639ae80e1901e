"""Figures as a page that stands alone, with zoom and values under the pointer, by plotly. Imported only
when one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from plotly.graph_objects import Scatter
from plotly.subplots import make_subplots

from nexemu.lab.report import Figure

HEIGHT: Final = 450
"""Of each figure, in pixels."""


def draw(title: str, figures: Sequence[Figure], path: Path) -> None:
    """Write ``figures`` to ``path``, one below the other."""
    page = make_subplots(rows=len(figures), subplot_titles=[figure.title for figure in figures])
    for row, figure in enumerate(figures, start=1):
        mode = "lines+markers" if figure.marked else "lines"
        for name, values in figure.lines.items():
            line = Scatter(x=list(figure.x), y=list(values), name=name, mode=mode, legendgroup=figure.title)
            page.add_trace(line, row=row, col=1)
        page.update_xaxes(title_text=figure.x_label, type=_scale(figure.log_x), row=row, col=1)
        page.update_yaxes(title_text=figure.y_label, type=_scale(figure.log_y), row=row, col=1)
    page.update_layout(title_text=title, height=HEIGHT * len(figures))
    page.write_html(path, include_plotlyjs=True)


def _scale(is_log: bool) -> str:
    return "log" if is_log else "linear"
