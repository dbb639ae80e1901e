"""A report for people, as tables in the terminal, or for programs, as JSON."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from nexemu.lab.experiment import Experiment
from nexemu.lab.report import Report, Table, like, said, text


def show(experiment: Experiment, report: Report, console: Console) -> None:
    """Print an experiment's heading and its report."""
    show_report(f"{experiment.title} ({experiment.place})", report, console)


def show_report(title: str, report: Report, console: Console) -> None:
    """Print the tables, our values beside the lecture's, and what to see."""
    console.print(Text(title, style="bold"))
    for table in report.tables:
        console.print(_fitting(table, console), crop=False)
    if report.checks:
        console.print(_checks(report))
    console.print(Padding(Text(report.see), (1, 0, 0, 0)))


def _fitting(table: Table, console: Console) -> RichTable:
    """The table; turned, if it is too wide for the terminal and has fewer rows than columns."""
    upright = _table(table)
    endless = console.options.update(max_width=sys.maxsize)
    if console.measure(upright, options=endless).maximum <= console.width:
        return upright
    return _table(turned(table)) if len(table.rows) < len(table.columns) else upright


def turned(table: Table) -> Table:
    """The same with a column for each row, and a row for each column but the first."""
    columns = (table.columns[0], *(text(row[0]) for row in table.rows))
    rows = [(name, *(row[at] for row in table.rows)) for at, name in enumerate(table.columns) if at]
    return Table(table.title, columns, rows)


def _table(table: Table) -> RichTable:
    """Names on the left, numbers on the right. Where room is short, words go to the next line, and numbers
    stay whole."""
    rich = RichTable(title=table.title, title_justify="left", title_style="italic")
    rows = [[text(cell) for cell in row] for row in table.rows]
    for number, column in enumerate(table.columns):
        words = chain.from_iterable(row[number].split() for row in rows)
        rich.add_column(
            column,
            justify="right" if number else "left",
            min_width=max(map(len, words), default=0),
            overflow="fold",
        )
    for row in rows:
        rich.add_row(*map(Text, row))
    return rich


def _checks(report: Report) -> RichTable:
    rich = RichTable(title="Beside the lecture", title_justify="left", title_style="italic")
    rich.add_column("what", ratio=3, overflow="fold")
    rich.add_column("the lecture", justify="right")
    rich.add_column("here", justify="right")
    rich.add_column("why they differ", ratio=3, overflow="fold")
    for check in report.checks:
        here, there = like(check.ours, check.lecture), said(check.lecture)
        rich.add_row(*map(Text, (check.what, there, here, check.why if here != there else "")))
    return rich


def as_json(name: str, seed: int, experiment: Experiment, report: Report) -> str:
    """All of it, figures included, with numbers as they were computed."""
    head: Mapping[str, object] = {
        "experiment": name,
        "title": experiment.title,
        "place": experiment.place,
        "seed": seed,
    }
    return json.dumps({**head, **asdict(report)}, indent=2)
