"""Trace files: what a line looks like, and what is in the file at any moment."""

import json

import pytest

from nexemu.errors import OperatorError
from nexemu.events import BadAccess, Exec, Exit, Fork, PageFault, Reap, Sbrk, Switch, Syscall
from nexemu.observe.plain import plain
from nexemu.observe.trace import BATCH, TraceWriter

LAZY = PageFault(5, "lazy", 0x6000, "WRITE", 0, 0x20402017, "user")


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            LAZY,
            (
                '{"event":"PageFault","pid":5,"kind":"lazy","va":"0x6000","access":"WRITE",'
                '"pte_before":"0x0","pte_after":"0x20402017","by":"user"}'
            ),
        ),
        (
            BadAccess(6, "crash", 13, 0x24, 0xDEADBEEF, "lw a5, 0(a5)", "not mapped"),
            (
                '{"event":"BadAccess","pid":6,"name":"crash","cause":13,"sepc":"0x24",'
                '"stval":"0xdeadbeef","instruction":"lw a5, 0(a5)","why":"not mapped"}'
            ),
        ),
        (
            Exec(5, "/ls", 0x1A, 16384),
            '{"event":"Exec","pid":5,"path":"/ls","entry":"0x1a","size":16384}',
        ),
        (
            Sbrk(5, 0x4000, 0x5001, 2, 0),
            '{"event":"Sbrk","pid":5,"old":"0x4000","new":"0x5001","mapped":2,"freed":0}',
        ),
        (
            Fork(4, 5, 7, 0),
            '{"event":"Fork","parent":4,"child":5,"pages_shared":7,"pages_copied":0}',
        ),
        (Exit(5, "ä", -1), '{"event":"Exit","pid":5,"name":"\\u00e4","status":-1}'),
        (Reap(4, 5), '{"event":"Reap","parent":4,"child":5}'),
        (Switch(99, 4, 5), '{"event":"Switch","cycles":99,"before":4,"after":5}'),
    ],
)
def test_a_line_has_the_fields_in_order_and_addresses_in_hexadecimal(tmp_path, event, expected):
    with TraceWriter(tmp_path / "t") as trace:
        trace(event)
    assert (tmp_path / "t").read_text() == expected + "\n"


@pytest.mark.parametrize(
    ("name", "args", "result", "shown_args", "shown_result"),
    [
        ("write", (1, 0x3000, 5), 5, [1, "0x3000", 5], 5),
        ("open", (0x3000, 0x200), -1, ["0x3000", 0x200], -1),
        ("open", (0x3000, 0), (1 << 64) - 1, ["0x3000", 0], -1),
        ("sbrk", (-4096,), 0x5000, [-4096], "0x5000"),
        ("sbrk", (1 << 30,), -1, [1 << 30], "0xffffffffffffffff"),
        ("mmap", (0, 4096, 3, 3, -1, 0), 0x3FFFFFD000, ["0x0", "0x1000", 3, 3, -1, "0x0"], "0x3fffffd000"),
        ("getpid", (), 5, [], 5),
        ("unknown 99", (1, 2), -1, ["0x1", "0x2"], -1),
    ],
)
def test_a_call_is_shown_as_its_prototype_declares_it(name, args, result, shown_args, shown_result):
    shown = plain(Syscall(7, name, args, result))
    assert shown == {
        "event": "Syscall",
        "pid": 7,
        "name": name,
        "args": shown_args,
        "result": shown_result,
    }
    assert list(shown) == ["event", "pid", "name", "args", "result"]


def test_an_unfinished_trace_consists_of_whole_lines(tmp_path):
    trace = TraceWriter(tmp_path / "t")
    for pid in range(BATCH + 3):
        trace(Reap(3, pid))
    lines = (tmp_path / "t").read_text().splitlines()
    assert [json.loads(line)["child"] for line in lines] == list(range(BATCH))
    trace.close()
    assert len((tmp_path / "t").read_text().splitlines()) == BATCH + 3
    trace.close()


def test_a_trace_is_closed_when_the_machine_fails(tmp_path):
    def fail():
        with TraceWriter(tmp_path / "t") as trace:
            trace(LAZY)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert json.loads((tmp_path / "t").read_text()) == plain(LAZY)


def test_the_same_events_give_the_same_bytes_and_replace_an_older_trace(tmp_path):
    for name in ("one", "two", "one"):
        with TraceWriter(tmp_path / name) as trace:
            trace(LAZY)
            trace(Reap(3, 4))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert len((tmp_path / "one").read_bytes().splitlines()) == 2


def test_a_file_that_cannot_be_written_is_the_operators_error(tmp_path):
    with pytest.raises(OperatorError, match="none/t: No such file or directory; name a file"):
        TraceWriter(tmp_path / "none" / "t")
    with pytest.raises(OperatorError, match="Is a directory"):
        TraceWriter(tmp_path)


def test_a_full_disk_is_the_operators_error_and_the_file_is_closed(tmp_path):
    trace = TraceWriter(tmp_path / "t")
    trace._file.close()
    with open("/dev/full", "wb", buffering=0) as full:
        trace._file = full
        trace(LAZY)
        with pytest.raises(OperatorError, match="No space left"):
            trace.close()
        assert full.closed
