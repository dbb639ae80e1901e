"""Tables and figures of serving runs."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from nexemu.lab.report import Figure
from nexemu.serve.engine import Outcome
from nexemu.serve.memory import Usage
from nexemu.serve.metrics import Latency, Summary, summarize
from nexemu.serve.request import SECOND, Request
from nexemu.serve.setup import Setting, serve

LOADS: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""Of the load asked for: what a comparison is drawn over."""

COLUMNS: Final = ("memory", "scheduler", "tok/s", "well", "first", "p99", "each", "hits", "preempt", "used")
UNITS: Final = (
    "well, hits, used: % of requests, of prompt tokens, of the memory. first, its p99, each: ms to a token."
)


def one_run(summary: Summary, title: str) -> Table:
    """Everything about one run."""
    used = [f"{kind} {100 * part:.1f} %" for kind, part in summary.usage.items() if part]
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in (
        ("finished, refused", f"{summary.finished:,}, {summary.refused:,}"),
        ("virtual time", f"{summary.seconds:,.1f} s"),
        ("throughput", f"{summary.tokens_per_second:,.0f} tokens/s"),
        ("served well", f"{100 * summary.served_well:.1f} %, {summary.goodput:.2f} a second"),
        ("first token", latency(summary.first_token)),
        ("each token", latency(summary.per_token)),
        ("prompt tokens cached", f"{100 * summary.hit_rate:.1f} %"),
        ("running", f"{summary.running:.1f} on average"),
        ("preemptions", f"{summary.preemptions:,}; {summary.recomputed:,} tokens computed again"),
        ("memory", ", ".join(used)),
    ):
        table.add_row(name, value)
    return table


def latency(found: Latency) -> str:
    """A latency in words."""
    return f"{found.mean:,.1f} ms on average, median {found.median:,.1f}, p99 {found.p99:,.1f}"


def comparison(found: Mapping[tuple[str, str], Summary]) -> Table:
    """A row for each memory and scheduler."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False, caption=UNITS)
    table.caption_justify = "left"
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number > 1 else "left", no_wrap=True)
    for (memory, scheduler), summary in found.items():
        table.add_row(
            memory,
            scheduler,
            f"{summary.tokens_per_second:,.0f}",
            f"{100 * summary.served_well:.1f}",
            f"{summary.first_token.mean:,.0f}",
            f"{summary.first_token.p99:,.0f}",
            f"{summary.per_token.mean:.1f}",
            f"{100 * summary.hit_rate:.1f}",
            f"{summary.preemptions:,}",
            f"{100 * summary.usage['stored']:.1f}",
        )
    return table


def print_whole(table: Table) -> None:
    """Print ``table``. A terminal that is too narrow breaks its lines, but no cell is cut."""
    console = Console()
    needed = console.measure(table, options=console.options.update(max_width=sys.maxsize)).maximum
    console.width = max(console.width, needed)
    console.print(table)


def over_time(outcome: Outcome) -> list[Figure]:
    """Where the memory was, and how many requests ran and waited."""
    seconds = [sample.now / SECOND for sample in outcome.samples]
    total = [sum(sample.usage) for sample in outcome.samples]
    kinds = {
        kind: [100 * sample.usage[number] / size for sample, size in zip(outcome.samples, total, strict=True)]
        for number, kind in enumerate(Usage._fields)
    }
    queues = {
        "running": [float(sample.running) for sample in outcome.samples],
        "waiting": [float(sample.waiting) for sample in outcome.samples],
    }
    used = {kind: line for kind, line in kinds.items() if any(line)}
    return [
        Figure("Memory by kind", "seconds", "%", seconds, used),
        Figure("Requests", "seconds", "", seconds, queues),
    ]


def over_load(
    requests: Sequence[Request], pairs: Sequence[tuple[str, str]], setting: Setting
) -> list[Figure]:
    """How well each pair of memory and scheduler serves the requests when they come slower or faster."""
    found = {
        pair: [summarize(serve(at_load(requests, load), *pair, setting)) for load in LOADS] for pair in pairs
    }
    names = {pair: ", ".join(pair) for pair in pairs}
    well = {names[pair]: [100 * each.served_well for each in line] for pair, line in found.items()}
    first = {names[pair]: [each.first_token.mean for each in line] for pair, line in found.items()}
    return [
        Figure("Served well", "load, of the one asked for", "%", LOADS, well),
        Figure("First token", "load, of the one asked for", "ms", LOADS, first, log_y=True),
    ]


def at_load(requests: Sequence[Request], load: float) -> list[Request]:
    """The same requests, ``load`` times as fast."""
    return [replace(request, arrival=int(request.arrival / load)) for request in requests]
