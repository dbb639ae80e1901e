import doctest

import hypothesis.strategies as st
from hypothesis import given, settings

from nexemu.evict.lru import Lru
from nexemu.kv import flop_aware
from nexemu.kv.flop_aware import FlopAware
from nexemu.kv.radix_cache import RadixCache
from nexemu.policy import Pages


class Pinning(Pages):
    def __init__(self, pins=()):
        self.pins = pins

    def pinned(self, page):
        return page in self.pins


def order(worth, alpha, touched=()):
    policy = FlopAware(worth.__getitem__, alpha)
    for entry in worth:
        policy.admit(entry)
    for entry in touched:
        policy.touch(entry)
    return [policy.victim(99, Pinning()) for _ in worth]


def test_the_rating_by_hand():
    """Ranks 0, 1/3, 2/3 and worths 1, 0, 1/2: with alpha 1 the ratings are 1, 1/3, 7/6. Of the two that
    are left, ranks 0 and 1/2 and worths 1 and 0 make 1 and 1/2."""
    assert order({1: 30, 2: 10, 3: 20}, alpha=1.0) == [2, 3, 1]


def test_the_example_in_its_docstring():
    assert doctest.testmod(flop_aware) == (0, 5)


def test_equal_worth_leaves_recency():
    assert order({1: 5, 2: 5, 3: 5}, alpha=9.0, touched=[1]) == [2, 3, 1]


@given(
    st.lists(st.integers(0, 5), max_size=12), st.dictionaries(st.integers(0, 5), st.integers(), min_size=6)
)
@settings(max_examples=50, deadline=None)
def test_without_alpha_it_is_lru(uses, worth):
    aware, lru = FlopAware(worth.__getitem__, 0.0), Lru()
    for policy in (aware, lru):
        for entry in range(6):
            policy.admit(entry)
        for entry in uses:
            policy.touch(entry)
    pages = Pinning({uses[-1]} if uses else ())
    assert [aware.victim(9, pages) for _ in range(6)] == [lru.victim(9, pages) for _ in range(6)]


def test_who_is_pinned_or_gone_is_not_chosen():
    policy = FlopAware({1: 1, 2: 2}.__getitem__)
    policy.admit(1)
    policy.admit(2)
    assert policy.victim(9, Pinning({1, 2})) is None
    policy.remove(1)
    policy.remove(1)
    assert policy.victim(9, Pinning()) == 2


def test_a_deep_prefix_outlives_a_shallow_one_that_was_used_later():
    cache = RadixCache(1, FlopAware(lambda node: cache.span(node).stop))
    cache.insert(range(100), range(100))
    cache.insert([500, 501], [100, 101])
    cache.insert([600, 601], [102, 103])
    assert sorted(cache.evict(1)) == [100, 101]
    assert cache.match(range(100)).length == 100
