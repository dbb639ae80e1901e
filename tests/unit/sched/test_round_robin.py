"""Round robin: first come, first served, and back to the end of the queue."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexemu.param import QUANTUM
from nexemu.sched import POLICIES
from nexemu.sched.round_robin import RoundRobin


@pytest.fixture
def robin():
    return RoundRobin()


def test_it_is_registered():
    made = POLICIES["round-robin"]()
    assert isinstance(made, RoundRobin)
    assert made.quantum(1) == QUANTUM


def test_three_that_always_run_take_turns(robin):
    for pid in (3, 4, 5):
        robin.ready(pid)
    turns = []
    for _ in range(7):
        turns.append(robin.choose())
        robin.ready(turns[-1])
    assert turns == [3, 4, 5, 3, 4, 5, 3]


def test_nothing_ready_is_none(robin):
    assert robin.choose() is None
    assert robin.waiting() == 0


def test_ready_twice_is_queued_once(robin):
    for pid in (3, 4, 3):
        robin.ready(pid)
    assert robin.waiting() == 2
    assert [robin.choose() for _ in range(3)] == [3, 4, None]


def test_a_forgotten_pid_is_skipped_whether_it_was_queued_or_not(robin):
    for pid in (3, 4, 5):
        robin.ready(pid)
    robin.forget(4)
    robin.forget(99)
    assert [robin.choose() for _ in range(3)] == [3, 5, None]


calls = st.tuples(st.sampled_from(["ready", "choose", "forget"]), st.integers(3, 8))


@settings(deadline=None)
@given(st.lists(calls, max_size=60))
def test_it_always_chooses_whoever_has_waited_longest(sequence):
    """The model notes since when each pid waits, and looks for the earliest."""
    robin = RoundRobin()
    since = {}
    for now, (call, pid) in enumerate(sequence):
        if call == "ready":
            robin.ready(pid)
            since.setdefault(pid, now)
        elif call == "forget":
            robin.forget(pid)
            since.pop(pid, None)
        else:
            expected = min(since, key=since.get, default=None)
            assert robin.choose() == expected
            since.pop(expected, None)
        assert robin.waiting() == len(since)
