"""Figures as a page that stands alone, with zoom and values under the pointer, by plotly. Imported only
when one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from plotly.colors import qualitative
from plotly.graph_objects import Scatter, Scattergl
from plotly.subplots import make_subplots

from nexemu.lab.report import Figure, number

HEIGHT: Final = 450
"""Of each figure, in pixels."""
SMALL, LARGE = 3, 6
"""How large a point is in a crowd, and otherwise, in pixels."""
COLOURS: Final[Sequence[str]] = qualitative.D3


def draw(title: str, figures: Sequence[Figure], path: Path) -> None:
    """Write ``figures`` to ``path``, one below the other. A name has one colour in all of them."""
    names = list(dict.fromkeys(name for figure in figures for name in (*figure.lines, *figure.points)))
    page = make_subplots(
        rows=len(figures),
        subplot_titles=[figure.title for figure in figures],
        vertical_spacing=0.25 / len(figures),
    )
    named: set[str] = set()
    for row, figure in enumerate(figures, start=1):
        for name in figure.names:
            draw_one = _line if name in figure.lines else _points
            trace = draw_one(figure, name, COLOURS[names.index(name) % len(COLOURS)])
            page.add_trace(trace.update(showlegend=name not in named, legendgroup=name), row=row, col=1)
            named.add(name)
        page.update_xaxes(_axis(figure.x_label, figure.log_x, figure.ticks), row=row, col=1)
        page.update_yaxes(_axis(figure.y_label, figure.log_y, []), row=row, col=1)
    page.update_layout(title_text=title, height=HEIGHT * len(figures), template="plotly_white")
    page.write_html(path, include_plotlyjs=True)


def _line(figure: Figure, name: str, colour: str) -> Scatter:
    mode = "lines+markers" if figure.marked else "lines"
    values = list(figure.lines[name])
    return Scatter(x=list(figure.x), y=values, name=name, mode=mode, line={"color": colour})


def _points(figure: Figure, name: str, colour: str) -> Scattergl:
    x, y = zip(*figure.points[name], strict=True)
    size = SMALL if figure.crowded else LARGE
    return Scattergl(x=x, y=y, name=name, mode="markers", marker={"color": colour, "size": size})


def _axis(label: str, is_log: bool, ticks: Sequence[float]) -> dict[str, Any]:
    """Plain numbers: at ``ticks`` where there are any, at powers of ten on a logarithmic scale."""
    axis = {"title": label, "type": "log" if is_log else "linear", "exponentformat": "none"}
    if ticks:
        return {**axis, "tickvals": list(ticks), "ticktext": [number(tick) for tick in ticks]}
    decades = {"dtick": 1, "minor": {"dtick": "D1", "showgrid": True}}
    return {**axis, "separatethousands": True, **(decades if is_log else {})}
