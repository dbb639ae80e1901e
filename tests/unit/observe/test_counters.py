"""What each event counts for, and how the tables show it."""

import io

import pytest
from rich.console import Console

from nexemu.events import BadAccess, Exec, Exit, Fork, PageFault, Reap, Sbrk, Switch, Syscall, Turn
from nexemu.observe import counters as c
from nexemu.observe.counters import Counters, kinds, owner, sum_of
from nexemu.observe.report import print_report

SH, CHILD = 4, 5
RUN = (
    Exec(SH, "/bin/sh", 0, 8192),
    Fork(SH, CHILD, 9, 0),
    PageFault(CHILD, "cow-copy", 0x3000, "WRITE", 1, 2, "user"),
    Exec(CHILD, "/demo", 0, 8192),
    Sbrk(CHILD, 0x4001, 0x8001, 0, 0),
    Sbrk(CHILD, 0x8001, 0x5001, 0, 3),
    Sbrk(CHILD, 0x5001, 0x5001, 0, 0),
    Syscall(CHILD, "open", (0, 0), -1),
    Syscall(CHILD, "open", (0, 0), (1 << 64) - 1),
    Syscall(CHILD, "open", (0, 0), 3),
    Syscall(CHILD, "read", (3, 0x4000, 9), 9),
    PageFault(CHILD, "lazy", 0x4000, "WRITE", 0, 2, "kernel"),
    PageFault(CHILD, "lazy", 0x5000, "READ", 0, 2, "user"),
    Switch(1000, CHILD, SH),
    PageFault(SH, "cow-reuse", 0x3000, "WRITE", 1, 2, "user"),
    Switch(2000, SH, CHILD),
    BadAccess(CHILD, "demo", 13, 0, 0xDEADBEEF, "lw", "not mapped"),
    Exit(CHILD, "demo", -1),
    Reap(SH, CHILD),
)


@pytest.fixture
def counters():
    counters = Counters()
    for event in RUN:
        counters(event)
    return counters


def test_the_totals_are_what_the_run_did(counters):
    assert counters.total() == {
        c.EVENTS: 19,
        (c.FAULT, "cow-copy", "user"): 1,
        (c.FAULT, "cow-reuse", "user"): 1,
        (c.FAULT, "lazy", "user"): 1,
        (c.FAULT, "lazy", "kernel"): 1,
        c.BAD_ACCESSES: 1,
        (c.CALL, "open"): 3,
        (c.CALL, "read"): 1,
        (c.FAILED, "open"): 2,
        c.FORKS: 1,
        c.SHARED: 9,
        c.PROMISED: 4,
        c.FREED: 3,
        c.SWITCHES: 2,
    }


def test_each_process_has_its_own_counts(counters):
    assert list(counters.by_pid) == [SH, CHILD]
    assert counters.by_pid[SH] == {
        c.EVENTS: 5,
        c.FORKS: 1,
        c.SHARED: 9,
        c.SWITCHES: 1,
        (c.FAULT, "cow-reuse", "user"): 1,
    }
    assert counters.names == {SH: "sh", CHILD: "demo"}
    assert counters.statuses == {CHILD: -1}


def test_eager_memory_is_counted_too():
    counters = Counters()
    counters(Sbrk(3, 0, 0x3000, 3, 0))
    counters(Fork(3, 4, 0, 11))
    assert counters.total() == {c.EVENTS: 2, c.PROMISED: 3, c.MAPPED: 3, c.FORKS: 1, c.COPIED: 11}
    assert counters.names == {4: ""}


def test_an_event_is_counted_for_whoever_caused_it():
    assert [owner(event) for event in (Fork(3, 4, 0, 0), Reap(3, 4), Switch(0, 3, 4), Exit(4, "", 0))] == [
        3,
        3,
        4,
        4,
    ]


def test_kinds_and_sums(counters):
    total = counters.total()
    assert kinds(total, c.FAULT) == ["cow-copy", "cow-reuse", "lazy"]
    assert sum_of(total, c.FAULT) == 4
    assert sum_of(total, c.CALL) == 4
    assert kinds(total, "nothing of the kind") == []


def printed(counters, width=100, exact_time=True):
    """The report's rows as tuples of cells; a title is a row of one."""
    out = io.StringIO()
    print_report(counters, Console(file=out, width=width, color_system=None), exact_time)
    rows = []
    for line in out.getvalue().splitlines():
        cells = [cell.strip() for cell in line.replace("┃", "│").split("│")]
        if "━" not in line and "─" not in line:
            rows.append(tuple(cells[1:-1] or cells))
    return rows


def test_the_report_shows_every_number(counters):
    assert printed(counters) == [
        ("Page faults",),
        ("kind", "user", "kernel", "all"),
        ("cow-copy", "1", "0", "1"),
        ("cow-reuse", "1", "0", "1"),
        ("lazy", "1", "1", "2"),
        ("bad access", "1", "", "1"),
        ("System calls",),
        ("name", "calls", "of these -1"),
        ("open", "3", "2"),
        ("read", "1", "0"),
        ("Memory and the hart",),
        ("what", "count"),
        ("forks", "1"),
        ("pages shared by fork", "9"),
        ("pages copied by fork", "0"),
        ("pages promised by sbrk", "4"),
        ("pages mapped by sbrk at once", "0"),
        ("pages freed by sbrk", "3"),
        ("switches between processes", "2"),
        ("Processes",),
        ("pid", "program", "faults", "calls", "forks", "switched to", "status"),
        ("4", "sh", "1", "0", "1", "1", ""),
        ("5", "demo", "3", "4", "0", "1", "-1"),
    ]


def test_large_numbers_are_grouped():
    counters = Counters()
    counters.by_pid[3] = counters.total()
    counters.by_pid[3][c.FAULT, "lazy", "user"] = 90137
    assert ("lazy", "90,137", "0", "90,137") in printed(counters)


def test_the_report_of_nothing_has_no_empty_tables():
    assert [row for row in printed(Counters()) if len(row) == 1] == [("Memory and the hart",)]


def test_time_that_leaves_instructions_out_is_called_so():
    counters = Counters()
    counters(Turn(pid=3, ready=0, start=0, end=2009))
    assert printed(counters)[-1] == ("3", "", "0", "2,009", "0", "2,009")
    assert "every instruction" in str(printed(counters, exact_time=False)[-2:])


def test_a_narrow_terminal_costs_no_digit():
    counters = Counters()
    counters(Turn(pid=3, ready=123_456, start=234_567, end=1_234_567))
    rows = printed(counters, width=40)
    cells = ["".join(column) for column in zip(*[row for row in rows if len(row) == 6][-4:], strict=True)]
    assert cells[-1].endswith("1,000,000")
