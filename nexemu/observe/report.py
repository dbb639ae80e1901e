"""What the counters say, as tables for people.

Printed after a run with ``--stats``, on whichever console the caller gives: the host's standard
error, because standard output is the guest's.
"""

from collections import Counter
from typing import Final

from rich.console import Console
from rich.table import Table

from nexemu.observe.counters import (
    BAD_ACCESSES,
    CALL,
    COPIED,
    FAILED,
    FAULT,
    FORKS,
    FREED,
    MAPPED,
    PROMISED,
    RAN,
    SHARED,
    SWITCHES,
    WAITED,
    Counters,
    Measure,
    kinds,
    sum_of,
)

ONLY_CALLS: Final = (
    "While a process runs alone, its system calls alone count; with --sched or --quantum every instruction."
)

TEXTS: Final = frozenset({"kind", "name", "what", "program"})


def print_to_stderr(counters: Counters, exact_time: bool) -> None:
    """Print all tables where the host's own messages go."""
    print_report(counters, Console(stderr=True), exact_time)


def print_report(counters: Counters, console: Console, exact_time: bool = True) -> None:
    """Print all tables to ``console``. Tables without a row are left out. ``exact_time``: the machine has
    counted every instruction."""
    total = counters.total()
    tables = (fault_table(total), call_table(total), memory_table(total))
    for table in (*tables, process_table(counters), time_table(counters, exact_time)):
        if table.row_count:
            console.print(table)


def fault_table(counts: Counter[Measure]) -> Table:
    """Page faults by kind, and by who touched the page."""
    table = _table("Page faults", "kind", "user", "kernel", "all")
    for kind in kinds(counts, FAULT):
        user, kernel = counts[FAULT, kind, "user"], counts[FAULT, kind, "kernel"]
        table.add_row(kind, f"{user:,}", f"{kernel:,}", f"{user + kernel:,}")
    if counts[BAD_ACCESSES]:
        table.add_row("bad access", f"{counts[BAD_ACCESSES]:,}", "", f"{counts[BAD_ACCESSES]:,}")
    return table


def call_table(counts: Counter[Measure]) -> Table:
    """System calls by name."""
    table = _table("System calls", "name", "calls", "of these -1")
    for name in kinds(counts, CALL):
        table.add_row(name, f"{counts[CALL, name]:,}", f"{counts[FAILED, name]:,}")
    return table


def memory_table(counts: Counter[Measure]) -> Table:
    """What fork and sbrk did, in pages, and how often the hart changed hands."""
    table = _table("Memory and the hart", "what", "count")
    for label, measure in (
        ("forks", FORKS),
        ("pages shared by fork", SHARED),
        ("pages copied by fork", COPIED),
        ("pages promised by sbrk", PROMISED),
        ("pages mapped by sbrk at once", MAPPED),
        ("pages freed by sbrk", FREED),
        ("switches between processes", SWITCHES),
    ):
        table.add_row(label, f"{counts[measure]:,}")
    return table


def process_table(counters: Counters) -> Table:
    """One line a process."""
    table = _table("Processes", "pid", "program", "faults", "calls", "forks", "switched to", "status")
    for pid, counts in counters.by_pid.items():
        faults, calls = sum_of(counts, FAULT), sum_of(counts, CALL)
        table.add_row(
            str(pid),
            counters.names.get(pid, ""),
            f"{faults:,}",
            f"{calls:,}",
            f"{counts[FORKS]:,}",
            f"{counts[SWITCHES]:,}",
            str(counters.statuses.get(pid, "")),
        )
    return table


def time_table(counters: Counters, exact_time: bool) -> Table:
    """One line a process: the first wait for the hart, the time from birth to end, all waits, and the time
    on the hart, in cycles of virtual time."""
    columns = ("pid", "program", "response", "turnaround", "waited", "ran")
    table = _table("Virtual time, in cycles", *columns)
    if not exact_time:
        table.caption, table.caption_justify = ONLY_CALLS, "left"
    for pid, life in counters.lives.items():
        counts = counters.by_pid[pid]
        times = (life.began - life.born, life.ended - life.born, counts[WAITED], counts[RAN])
        table.add_row(str(pid), counters.names.get(pid, ""), *(f"{cycles:,}" for cycles in times))
    return table


def _table(title: str, *columns: str) -> Table:
    """An empty table; text stands on the left, numbers on the right, and none of them is cut off."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in TEXTS else "right", overflow="fold")
    return table
