"""Each probe works, once and small, and gives times; that is all a test can ask of it."""

import sys
from contextlib import ExitStack

import pytest

from nexemu.bench.child import HOME, process_seconds, watch
from nexemu.bench.command import PROBES
from nexemu.bench.measure import QUICK, measure
from nexemu.bench.paging import Faults
from nexemu.bench.probe import NotHere, Setting
from nexemu.bench.rig import Rig, Shown, Stopwatch, first_with
from nexemu.bench.smolprobe import token_seconds
from nexemu.errors import OperatorError
from nexemu.kernel import Options

SLOW = {"smolprobe", "token", "token-process"}
FILL = "a fill with an empty hook"
TIMES = {
    "boot": 0.4,
    "fork": 0.020,
    "smolprobe": 10.0,
    "lru": 2.0,
    "clock": 2.0,
    "arc": 2.0,
    "opt": 5.0,
    "mlfq": 15.0,
}
RATIOS = {
    "refill": {FILL: 2.0},
    "lazy": {FILL: 2.5},
    "cow-copy": {FILL: 3.0},
    "token": {"its multiply-adds, bare": 1.5},
}


@pytest.fixture
def setting():
    with ExitStack() as stack:
        yield Setting(quick=True, stack=stack)


def made(name, setting):
    try:
        return PROBES[name](setting)
    except NotHere as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in PROBES])
def test_a_probe_gives_a_time_and_one_for_each_floor(name, setting):
    probe = made(name, setting)
    result = measure(name, probe, QUICK, lambda done: None)
    assert [floor.title for floor in result.comparisons] == [floor.title for floor in probe.floors]
    columns = [result.samples, *(floor.samples for floor in result.comparisons)]
    assert all(len(column) == 1 and column[0] > 0 for column in columns)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in PROBES])
def test_a_probe_aims_at_what_was_promised(name, setting):
    probe = made(name, setting)
    assert probe.at_most == TIMES.get(name)
    if not probe.remarks:  # they say which floor could not be had
        ratios = {floor.title: floor.at_most for floor in probe.floors if floor.at_most is not None}
        assert ratios == RATIOS.get(name, {})


# ---- what a round leaves behind -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["refill", "lazy", "cow_copy", "cow_reuse"])
def test_a_round_of_faults_leaves_the_machine_as_it_was(name, setting):
    faults = Faults(setting)
    kernel = faults._rig.kernel
    getattr(faults, name)()
    free = kernel.frames.free_frames
    getattr(faults, name)()
    assert kernel.frames.free_frames == free
    kernel.audit()


def faults_of(setting, name):
    """The kinds of the page faults that a second round takes, and how many of each."""
    kinds = []
    faults = Faults(setting)
    getattr(faults, name)()
    rig = faults._rig
    paging = rig.proc.space.paging
    object.__setattr__(paging, "emit", lambda event: kinds.append(getattr(event, "kind", None)))
    getattr(faults, name)()
    return {kind: kinds.count(kind) for kind in kinds if kind}, faults._pages


@pytest.mark.parametrize(
    ("name", "kind"),
    [("lazy", "lazy"), ("cow_copy", "cow-copy"), ("cow_reuse", "cow-reuse"), ("refill", None)],
)
def test_a_page_fault_is_of_the_kind_that_the_probe_is_called_after(name, kind, setting):
    kinds, pages = faults_of(setting, name)
    assert kinds.get(kind, 0) == (pages if kind else 0)
    assert kind or not kinds


def test_a_child_that_ended_leaves_nothing():
    rig = Rig(b"", Options(memory=8 << 20))
    rig.grow(3)
    free = rig.kernel.frames.free_frames
    rig.end(rig.fork())
    assert rig.kernel.frames.free_frames == free
    assert [proc.pid for proc in rig.kernel.procs] == [rig.proc.pid]
    rig.kernel.audit()


# ---- processes and consoles ---------------------------------------------------------------------


def python(*lines):
    return [sys.executable, "-c", "\n".join(lines)]


def test_a_process_is_timed_with_its_input():
    assert process_seconds(python("assert input() == 'exit'"), b"exit\n") > 0


@pytest.mark.parametrize("run", [process_seconds, lambda command: watch(command, HOME)])
def test_a_process_that_fails_is_the_operators_business(run):
    with pytest.raises(OperatorError, match=r"ended with status 1: no such thing$"):
        run(python("import sys", "sys.exit('no such thing')"))


def test_what_a_process_writes_is_watched_in_order(tmp_path):
    (tmp_path / "in").write_text("two")
    shown = watch(python("print('one', flush=True)", "print(open('in').read())"), tmp_path)
    assert b"".join(piece.data for piece in shown) == b"one\ntwo\n"
    assert [piece.at for piece in shown] == sorted(piece.at for piece in shown)


def test_a_stopwatch_keeps_what_a_guest_wrote():
    console = Stopwatch()
    console.write(memoryview(b"one"))
    console.write(b"")
    console.write(b"two")
    assert [piece.data for piece in console.shown] == [b"one", b"two"]
    assert 0 < console.shown[0].at <= console.shown[1].at


def test_a_word_is_looked_for_in_what_was_shown():
    shown = [Shown(1.0, b"a"), Shown(2.0, b"bcd"), Shown(3.0, b"c")]
    assert first_with(b"c", shown) == 1
    with pytest.raises(OperatorError, match="before it wrote 'z'"):
        first_with(b"z", shown)


def test_a_token_is_the_median_gap_of_the_decode():
    times = {
        b"[p] loading": 0,
        b"[p] running decode...": 10,
        b" Par": 17,
        b"is": 19,
        b".": 22,
        b"\n": 24,
        b"[p] SUMMARY": 25,
    }
    assert token_seconds([Shown(at, data) for data, at in times.items()]) == 2
