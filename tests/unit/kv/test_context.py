import pytest

from nexemu.errors import KernelPanic, OutOfMemory
from nexemu.evict.fifo import Fifo
from nexemu.evict.lru import Lru
from nexemu.kv.context import ContextWindow


def talk(evictor):
    """Four messages of 10 tokens in a window for three."""
    window = ContextWindow(30, evictor)
    for message in range(4):
        window.say(message, 10)
    return window


def test_without_an_archive_the_oldest_message_is_lost():
    window = talk(None)
    assert not window.refer(0)
    assert window.refer(1)
    assert (window.lost, window.faults, window.used) == (1, 0, 30)


def test_with_an_archive_it_comes_back():
    window = talk(Lru())
    assert window.refer(0)
    assert (window.lost, window.faults, window.moved, window.used) == (0, 1, 10, 30)
    assert window.refer(0)
    assert window.faults == 1


@pytest.mark.parametrize(("policy", "faults"), [(Lru, 0), (Fifo, 1)])
def test_the_policy_chooses_what_leaves(policy, faults):
    window = ContextWindow(30, policy())
    for message in range(3):
        window.say(message, 10)
    window.refer(0)
    window.say(3, 10)
    window.refer(0)
    assert window.faults == faults


def test_a_long_message_sends_several_away():
    window = talk(Lru())
    window.say(4, 25)
    assert window.used == 25


def test_a_message_longer_than_the_window():
    with pytest.raises(OutOfMemory, match="31 tokens in a window of 30"):
        talk(None).say(9, 31)


@pytest.mark.parametrize("misuse", [lambda window: window.say(0, 1), lambda window: window.refer(9)])
def test_misuse_panics(misuse):
    with pytest.raises(KernelPanic):
        misuse(talk(None))
