"""A report for people, as tables in the terminal, or for programs, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict

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
        console.print(_table(table))
    if report.checks:
        console.print(_checks(report))
    console.print(Padding(Text(report.see), (1, 0, 0, 0)))


def _table(table: Table) -> RichTable:
    """Names on the left, numbers on the right."""
    rich = RichTable(title=table.title, title_justify="left", title_style="italic")
    for number, column in enumerate(table.columns):
        rich.add_column(column, justify="right" if number else "left")
    for row in table.rows:
        rich.add_row(*(Text(text(cell)) for cell in row))
    return rich


def _checks(report: Report) -> RichTable:
    rich = RichTable(title="Beside the lecture", title_justify="left", title_style="italic")
    rich.add_column("what", ratio=3)
    rich.add_column("the lecture", justify="right")
    rich.add_column("here", justify="right")
    rich.add_column("why they differ", ratio=3)
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
