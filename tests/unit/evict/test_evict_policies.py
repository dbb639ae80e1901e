"""Which page each policy gives up, in cases that can be followed by hand; and what all of them promise."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import nexemu.evict
from nexemu.evict import POLICIES, Setup
from nexemu.evict.ageing import Ageing
from nexemu.evict.arc import Arc
from nexemu.evict.clock import Clock
from nexemu.evict.lfu import Lfu
from nexemu.evict.lru import Lru
from nexemu.evict.opt import Opt
from nexemu.evict.random_page import RandomPage
from nexemu.evict.replay import Bare
from nexemu.evict.second_chance import SecondChance
from nexemu.policy import Pages

MODULES = sorted(
    file.stem for file in Path(nexemu.evict.__file__).parent.glob("*.py") if file.stem != "__init__"
)


class Hardware(Pages):
    """Sets of pages whose bits are set; to ask for an accessed bit is to clear it."""

    def __init__(self, accessed=(), dirty=(), pinned=()):
        self.bits = set(accessed)
        self.changed = set(dirty)
        self.held = set(pinned)

    def accessed(self, page):
        was = page in self.bits
        self.bits.discard(page)
        return was

    def dirty(self, page):
        return page in self.changed

    def pinned(self, page):
        return page in self.held


def holding(policy, *pages):
    for page in pages:
        policy.admit(page)
    return policy


@pytest.mark.parametrize("name", MODULES)
def test_the_docstrings_are_true(name):
    assert doctest.testmod(import_module(f"nexemu.evict.{name}")).failed == 0


@pytest.mark.parametrize("name", POLICIES)
class TestEveryPolicy:
    @pytest.fixture
    def policy(self, name):
        """One that holds 0, 1, 2, 3, which are told to come in this order."""
        return holding(POLICIES[name](Setup(capacity=4, future=[0, 1, 2, 3, 4, 0])), 0, 1, 2, 3)

    def test_each_page_leaves_once(self, policy):
        assert sorted(policy.victim(4, Bare()) for _ in range(4)) == [0, 1, 2, 3]
        assert policy.victim(4, Bare()) is None

    def test_a_pinned_page_stays(self, policy):
        memory = Hardware(pinned=[0, 2])
        assert {policy.victim(4, memory), policy.victim(4, memory)} == {1, 3}
        assert policy.victim(4, memory) is None
        memory.held.clear()
        assert {policy.victim(4, memory), policy.victim(4, memory)} == {0, 2}

    def test_pinned_and_used_pages_do_not_hang_it(self, policy):
        memory = Hardware(accessed=[0, 1, 2, 3], pinned=[0, 1, 2])
        assert policy.victim(4, memory) == 3

    def test_a_removed_page_never_leaves(self, policy):
        policy.remove(1)
        policy.remove(99)
        assert sorted(policy.victim(4, Bare()) for _ in range(3)) == [0, 2, 3]

    def test_a_tick_loses_nobody(self, policy):
        policy.tick(Hardware(accessed=[1, 2]))
        assert sorted(policy.victim(4, Bare()) for _ in range(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("policy", [Lru(), Lfu(), Ageing(), Clock(), SecondChance(), Arc(3)], ids=type)
def test_a_page_whose_accessed_bit_is_set_outlives_one_whose_is_not(policy):
    """As a kernel sees it: nobody tells of uses, bits are looked at now and then."""
    holding(policy, 1, 2, 3)
    memory = Hardware()
    policy.tick(memory)
    memory.bits = {1, 3}
    policy.tick(memory)
    assert policy.victim(4, memory) == 2


def test_lru_keeps_what_was_used_last():
    policy = holding(Lru(), 1, 2, 3)
    policy.touch(1)
    assert [policy.victim(4, Bare()) for _ in range(3)] == [2, 3, 1]


class TestLfu:
    def test_the_fewest_uses_leave_and_the_oldest_of_equals(self):
        policy = holding(Lfu(), 1, 2, 3)
        for page in (1, 1, 3, 2):
            policy.touch(page)
        assert [policy.victim(4, Bare()) for _ in range(3)] == [3, 2, 1]

    def test_a_page_that_left_starts_again(self):
        policy = holding(Lfu(), 1)
        policy.touch(1)
        policy.victim(2, Bare())
        holding(policy, 2, 1)
        assert policy.victim(3, Bare()) == 2


class TestClock:
    def test_a_used_page_gets_one_more_round(self):
        policy = holding(Clock(), 1, 2, 3)
        policy.touch(1)
        assert policy.victim(4, Bare()) == 2
        policy.admit(4)
        assert [policy.victim(5, Bare()) for _ in range(3)] == [3, 1, 4]

    def test_the_hardware_bit_counts_and_is_cleared(self):
        policy = holding(Clock(), 1, 2)
        memory = Hardware(accessed=[1, 2])
        assert policy.victim(3, memory) == 1
        assert memory.bits == set()


class TestSecondChance:
    def test_a_clean_page_goes_before_a_dirty_one(self):
        policy = holding(SecondChance(), 1, 2, 3)
        assert policy.victim(4, Hardware(dirty=[1, 2])) == 3

    def test_an_unused_dirty_page_goes_before_a_used_clean_one(self):
        policy = holding(SecondChance(), 1, 2, 3)
        policy.touch(1)
        assert policy.victim(4, Hardware(dirty=[2, 3])) == 2

    def test_looking_does_not_lose_the_bit(self):
        """The first round reads the bit of 1, the second one needs it still."""
        policy = holding(SecondChance(), 1, 2)
        assert policy.victim(3, Hardware(accessed=[1], dirty=[1, 2])) == 2


class TestAgeing:
    def test_a_recent_use_weighs_more_than_all_earlier_ones(self):
        policy = holding(Ageing(), 1, 2)
        for _ in range(3):
            policy.touch(1)
            policy.tick(Bare())
        policy.touch(2)
        policy.tick(Bare())
        assert policy.victim(3, Bare()) == 1

    def test_after_eight_ticks_a_use_is_forgotten(self):
        policy = holding(Ageing(), 1, 2)
        policy.touch(1)
        policy.tick(Bare())
        policy.touch(2)
        for _ in range(9):
            policy.tick(Bare())
        assert policy.victim(3, Bare()) == 1  # equal: the first to come


class TestArc:
    def test_a_scan_does_not_push_out_what_was_used_twice(self):
        policy = Arc(4)
        inside = set()
        for page in (1, 2, 1, 2, *range(10, 30)):
            if page in inside:
                policy.touch(page)
                continue
            if len(inside) == 4:
                inside.remove(policy.victim(page, Bare()))
            policy.admit(page)
            inside.add(page)
        assert {1, 2} < inside

    def test_the_border_follows_the_ghosts(self):
        """A miss on what ``recent`` gave up enlarges its part."""
        policy = holding(Arc(2), 1, 2)
        policy.touch(1)
        assert policy.victim(3, Bare()) == 2  # recent is over its part of 0
        policy.admit(3)
        assert policy.victim(2, Bare()) == 1  # 2 is a ghost: the part is 1 now, and frequent has to give
        policy.admit(2)
        assert policy._target == 1

    def test_where_every_recent_page_is_pinned_a_frequent_one_leaves(self):
        policy = Arc(2)
        for page in (0, 1):
            policy.admit(page)
        policy.touch(0)  # now frequent
        policy.admit(2)
        assert policy.victim(3, Hardware(pinned=[1, 2])) == 0


class TestOpt:
    def test_the_furthest_next_use_leaves_and_never_is_furthest(self):
        policy = holding(Opt([1, 2, 3, 1, 2, 4]), 1, 2, 3)
        assert [policy.victim(4, Bare()) for _ in range(3)] == [3, 2, 1]

    def test_a_use_that_has_passed_is_forgotten(self):
        policy = holding(Opt([1, 2, 1, 3]), 1, 2)
        policy.touch(1)
        policy.remove(1)
        policy.remove(2)
        assert policy.victim(3, Bare()) is None


class TestRandom:
    def test_everybody_is_chosen_and_the_seed_decides(self):
        def victims(seed):
            policy = holding(RandomPage(seed), *range(8))
            return [policy.victim(9, Bare()) for _ in range(8)]

        assert victims(1) == victims(1) != victims(2)
        assert {victims(seed)[0] for seed in range(100)} == set(range(8))
