"""Keeping events and sharing them out."""

import doctest

from nexemu.events import Exit, Reap
from nexemu.observe import recorder
from nexemu.observe.recorder import Recorder, fan_out

FIRST, SECOND, THIRD = Reap(3, 4), Exit(5, "ls", 0), Reap(3, 5)


def test_the_docstring_is_true():
    result = doctest.testmod(recorder)
    assert (result.failed, result.attempted) == (0, 4)


def test_events_are_kept_in_order_and_found_by_kind():
    kept = Recorder()
    for event in (FIRST, SECOND, THIRD):
        kept(event)
    assert kept.events == [FIRST, SECOND, THIRD]
    assert kept.of(Reap) == [FIRST, THIRD]
    assert kept.of(Exit) == [SECOND]


def test_nobody_listening_is_no_emitter():
    assert fan_out([]) is None


def test_a_single_listener_is_called_directly():
    kept = Recorder()
    assert fan_out([kept]) is kept


def test_each_listener_hears_each_event_in_their_order():
    heard = []
    emit = fan_out([lambda event: heard.append(("a", event)), lambda event: heard.append(("b", event))])
    emit(FIRST)
    emit(SECOND)
    assert heard == [("a", FIRST), ("b", FIRST), ("a", SECOND), ("b", SECOND)]
