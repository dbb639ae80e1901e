"""The page map: a trace is read back, each process has its own pages, and figures show them in order."""

import pytest
from lab_support import check_complete
from support import MIB
from typer.testing import CliRunner

from nexemu.errors import OperatorError
from nexemu.events import Exec, Exit, Fork, PageFault, Sbrk, Switch, Syscall
from nexemu.lab.command import app
from nexemu.lab.experiment import in_silence
from nexemu.lab.paging.lives import changes
from nexemu.lab.paging.page_map import Choice, page_map
from nexemu.lab.paging.trace_file import BLOCK, read_trace
from nexemu.observe.trace import TraceWriter

HIGH = 0x3F_FFFF_D000


def fault(pid, kind, va, by="user"):
    return PageFault(pid, kind, va, "write", 0, 0x2000_00D7, by)


FAMILY = [
    fault(1, "cow-copy", 0x3000),
    Exec(2, "/bin/a", 0, 0x3000),
    Sbrk(2, 0x3000, 0x7F00, 0, 0),
    fault(2, "lazy", 0x3000),
    fault(2, "lazy", 0x7000, by="kernel"),
    Fork(2, 3, 5, 0),
    fault(3, "cow-copy", 0x3000),
    fault(2, "cow-reuse", 0x3000),
    fault(3, "lazy", 0x5000),
    Sbrk(2, 0x7F00, 0x4000, 0, 1),
    fault(2, "mmap", HIGH),
    Exit(3, "a", 0),
    fault(2, "swap", 0x3000),
]
"""``a`` promises five pages, touches two, and forks; its child copies one and touches one."""


def mapped(events=FAMILY, **choice):
    report = page_map(list(changes(events)), Choice(**choice))
    check_complete(report)
    return report


def write(path, events):
    with TraceWriter(path) as trace:
        for event in events:
            trace(event)
    return path


# ---- reading ----------------------------------------------------------------------------------


def test_a_trace_gives_back_the_events_that_memory_is_made_of(tmp_path):
    others = [Syscall(2, "getpid", (), 2), Switch(0, 1, 2)]
    path = write(tmp_path / "t", [*others, *FAMILY, *others])
    assert list(read_trace(path, in_silence)) == FAMILY


def test_a_trace_of_many_blocks_is_read_to_its_end(tmp_path):
    events = [fault(2, "lazy", page << 12) for page in range(10_000)]
    path = write(tmp_path / "t", events)
    assert path.stat().st_size > BLOCK
    assert list(read_trace(path, in_silence)) == events


def test_a_line_that_was_cut_off_ends_the_trace(tmp_path):
    path = write(tmp_path / "t", FAMILY)
    path.write_bytes(path.read_bytes()[:-30])
    assert list(read_trace(path, in_silence)) == FAMILY[:-1]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "it is empty"),
        (b'{"event":"Swi', "line 1 is no event"),
        (b'{"event":"Switch"}\nhello\n', "line 2 is no event"),
        (b'{"event":"Switch"}\n\n{"event":"Switch"}\n', "line 2 is no event"),
        (b"5\n", "line 1 is no event"),
        (b'{"name":"x"}\n', "line 1 is no event"),
        (b'{"event":["PageFault"]}\n', "line 1 is no event"),
        (b'{"event":"Fork","parent":2}\n', "line 1 is no event"),
        (
            b'{"event":"Fork","parent":2,"child":"3","pages_shared":0,"pages_copied":0}\n',
            "line 1 is no event",
        ),
        (b'{"event":"Sbrk","pid":2,"old":1,"new":"0x2","mapped":0,"freed":0}\n', "line 1 is no event"),
        (b"\x89PNG\r\n\x1a\n", "no trace, but something else"),
    ],
)
def test_what_is_no_trace_is_refused_in_a_line(tmp_path, content, what):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(
        OperatorError, match=rf"t: {what}; `nexemu run --trace FILE -- PROGRAM` writes a trace"
    ):
        list(read_trace(tmp_path / "t", in_silence))


def test_a_file_that_cannot_be_read_is_refused_in_a_line(tmp_path):
    for path, what in ((tmp_path / "nothing", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(OperatorError, match=what):
            list(read_trace(path, in_silence))


# ---- the map ----------------------------------------------------------------------------------


def test_a_family_is_drawn_in_the_order_of_the_trace():
    pages, heap = mapped(name="a").figures
    assert pages.points == {
        "lazy": [(1, 1), (2, 3), (5, 2)],
        "reused": [(4, 1)],
        "copied": [(3, 1)],
        "mmap": [(6, 4)],
        "swap": [(7, 1)],
    }
    assert heap.x == [1, 2, 3, 4, 5, 6, 7]
    assert heap.lines == {
        "reserved by sbrk": [5, 5, 10, 10, 10, 6, 1],
        "mapped": [1, 2, 4, 4, 5, 4, 1],
        "frames taken so far": [1, 2, 3, 3, 4, 5, 5],
    }


def test_without_a_choice_the_process_with_the_most_page_faults_is_drawn():
    pages, heap = mapped().figures
    assert pages.title == "Page map of a, pid 2"
    assert pages.points["lazy"] == [(1, 1), (2, 2)]
    assert heap.lines == {"reserved by sbrk": [5, 5, 5, 1, 1], "mapped": [1, 2, 2, 1, 1]}


def test_a_pid_chooses_one_process_which_begins_with_the_heap_of_its_parent():
    _, heap = mapped(pid=3).figures
    assert heap.lines == {"reserved by sbrk": [5, 5], "mapped": [2, 3]}


def test_the_last_page_faults_keep_their_numbers():
    pages, heap = mapped(name="a", last=2).figures
    assert pages.points == {"mmap": [(6, 2)], "swap": [(7, 1)]}
    assert heap.x == [6, 7]


def test_each_process_that_page_faulted_is_a_row():
    (table,) = mapped([*FAMILY, Fork(2, 4, 1, 0)]).tables
    assert table.rows == [
        ("init", "1", 0, 0, 0, 1, 0, 0),
        ("a", "2", 5, 2, 1, 0, 1, 1),
        ("a", "3", 5, 1, 0, 1, 0, 0),
    ]


def test_exec_begins_a_new_address_space():
    events = [fault(2, "cow-copy", 0x1000), Exec(2, "b", 0, 0x2000), fault(2, "lazy", 0x2000)]
    (table,) = mapped(events).tables
    assert [row[:2] for row in table.rows] == [("init", "2"), ("b", "2")]
    events.append(fault(2, "lazy", 0x3000))
    assert mapped(events, name="b").figures[0].points == {"lazy": [(1, 1), (2, 2)]}
    assert mapped(events, pid=2).figures[0].points == {"lazy": [(1, 1), (2, 2)]}


def test_what_system_calls_touch_does_not_dwarf_the_rest():
    events = [fault(2, "lazy", page << 12, by="kernel") for page in range(3)]
    _, own, heap = mapped([*events, fault(2, "lazy", 0x9000), fault(2, "lazy", 0x8000)]).figures
    assert own.points == {"lazy": [(1, 2), (2, 1)]}
    assert heap.x == [1, 2, 3, 4, 5]


def test_eager_pages_are_mapped_when_they_are_reserved():
    events = [Exec(2, "a", 0, 0x1000), Sbrk(2, 0x1000, 0x5000, 4, 0), fault(2, "mmap", HIGH)]
    assert mapped(events).figures[1].lines == {"reserved by sbrk": [4], "mapped": [4]}


def test_what_was_only_promised_is_said():
    assert "5 pages of the heap were reserved by sbrk, 3 of them mapped; the other 2 cost nothing." in (
        mapped(pid=3).see
    )
    assert mapped(name="a").see.endswith(
        "1 of them mapped. Since pages were shared, 5 frames were enough until then."
    )


@pytest.mark.parametrize(
    ("choice", "what"),
    [
        ({"pid": 9}, "--pid 9: the trace has pids from 1 to 4"),
        ({"name": "inti"}, "--name inti: no process of that name; did you mean init?"),
        ({"name": "xyzzy"}, "--name xyzzy: no process of that name; there is init, a"),
        ({"pid": 3, "name": "init"}, "--name init: no process of that name; there is a"),
        ({"pid": 4}, "a, pid 4: it has no page fault; choose a process that has"),
    ],
)
def test_a_choice_of_nothing_is_refused_in_a_line(choice, what):
    with pytest.raises(OperatorError) as caught:
        mapped([*FAMILY, Fork(2, 4, 1, 0), Exit(4, "a", 0)], **choice)
    assert str(caught.value) == what


def test_a_run_without_page_faults_is_refused_in_a_line():
    with pytest.raises(OperatorError, match="the trace has no page fault: run the program with lazy sbrk"):
        mapped([Exec(2, "a", 0, 0x1000)])


# ---- real programs ----------------------------------------------------------------------------


def traced(machine, *command):
    events = []
    machine.run(*command, memory=16 * MIB, emit=events.append)
    return events


def test_lazydemo_touches_a_quarter_of_what_it_reserves(machine, tmp_path):
    path = write(tmp_path / "t", traced(machine, "lazydemo"))
    report = mapped(read_trace(path, in_silence))
    pages, heap = report.figures
    assert pages.points["lazy"] == [(n, n) for n in range(1, 65)]
    assert heap.lines["reserved by sbrk"] == [256] * 64
    assert heap.lines["mapped"] == list(range(1, 65))
    assert "the other 192 cost nothing" in report.see


def test_the_child_of_cowdemo_copies_what_it_writes(machine):
    """64 pages are shared, 16 of them written to, and its stack, which is below them."""
    events = traced(machine, "cowdemo")
    child = max(event.child for event in events if isinstance(event, Fork))
    pages, heap = mapped(events, pid=child).figures
    assert pages.points == {"copied": [(n, n) for n in range(1, 18)]}
    assert heap.lines == {"reserved by sbrk": [64] * 17, "mapped": [64] * 17}


def test_the_command_prints_the_table_and_draws(machine, tmp_path):
    pytest.importorskip("matplotlib")
    path = write(tmp_path / "t", traced(machine, "cowdemo"))
    done = CliRunner().invoke(
        app,
        ["pages", str(path), "--name", "cowdemo", "--plot", str(tmp_path / "p.svg")],
        env={"COLUMNS": "100"},
    )
    assert done.exit_code == 0
    assert any(line.split()[1::2][:3] == ["cowdemo", "5", "64"] for line in done.stdout.splitlines())
    assert b"Page map of cowdemo, 3 processes" in (tmp_path / "p.svg").read_bytes()
