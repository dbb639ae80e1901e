import pytest

from nexemu.errors import KernelPanic
from nexemu.evict.lru import Lru
from nexemu.kv.radix_cache import RadixCache
from nexemu.kv.tier import Tier


@pytest.fixture
def tier():
    made = Tier("host", 4, RadixCache(2, Lru()), 1)
    yield made
    made.audit()


def test_what_was_stored_is_found_in_full_pages(tier):
    tier.store([1, 2, 3, 4, 5])
    assert tier.match([1, 2, 3, 4, 5]) == 4
    assert tier.match([1, 2, 3, 9]) == 2
    assert tier.match([1, 2], "another") == 0


def test_what_is_known_is_not_stored_twice(tier):
    tier.store([1, 2, 3, 4])
    tier.store([1, 2, 5, 6])
    assert tier.pool.used_blocks == 3


def test_a_full_tier_forgets_what_was_used_longest_ago(tier):
    tier.store([1, 2, 3, 4])
    tier.store([5, 6, 7, 8])
    tier.match([1, 2, 3, 4])
    tier.store([9, 9])
    assert tier.match([1, 2, 3, 4]) == 4
    assert tier.match([5, 6]) == 0


def test_what_is_longer_than_the_tier_is_kept_from_its_start(tier):
    tier.store(range(20))
    assert tier.match(range(20)) == 8


def test_a_continuation_does_not_evict_its_own_beginning(tier):
    tier.store(range(6))
    tier.store(range(20))
    assert tier.match(range(20)) == 8


def test_the_audit_sees_a_lost_block():
    tier = Tier("host", 4, RadixCache(2, Lru()), 1)
    tier.store([1, 2])
    tier.pool.kalloc()
    with pytest.raises(KernelPanic, match="audit"):
        tier.audit()
