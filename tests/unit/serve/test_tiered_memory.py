import pytest
from serve_support import request

from nexemu.evict.lru import Lru
from nexemu.kv.radix_cache import RadixCache
from nexemu.kv.tier import Tier
from nexemu.sched.fcfs import Fcfs
from nexemu.serve.costs import Costs
from nexemu.serve.engine import Engine
from nexemu.serve.radix_memory import RadixMemory
from nexemu.serve.tiered_memory import TieredMemory

COSTS = Costs(step=1000, prefill=10, attention=0, decode=100, context=1, token_bytes=1)
FAST, SLOW, HOPELESS = 1_000_000_000, 200_000_000, 50_000_000  # 1, 5 and 20 ns a token


def memory(*tiers, device=4):
    """A device of so many pages of 4 tokens, and tiers of (pages, bytes a second)."""
    made = [
        Tier(f"tier {number}", pages, RadixCache(4, Lru()), rate)
        for number, (pages, rate) in enumerate(tiers)
    ]
    return TieredMemory(RadixMemory(device, RadixCache(4, Lru())), made, COSTS)


def serve(memory, *requests):
    outcome = Engine(requests, memory, Fcfs(), COSTS).run()
    memory.audit()
    return outcome.records


A, OTHER = range(13), range(100, 113)


def again(*prompts):
    return [request(prompt, 1, arrival=10_000 * number) for number, prompt in enumerate(prompts)]


def test_what_the_device_forgot_is_read_back():
    tiered = memory((20, FAST))
    records = serve(tiered, *again(A, OTHER, A))
    assert [record.cached for record in records] == [0, 0, 12]
    assert records[2].time_to_first_token == 1000 + 12 * 1 + 10
    assert tiered.loaded == {"tier 0": 12}


def test_without_tiers_it_is_computed_again():
    records = serve(memory(), *again(A, OTHER, A))
    assert [record.cached for record in records] == [0, 0, 0]


def test_what_is_on_the_device_is_not_read():
    tiered = memory((20, FAST), device=9)
    records = serve(tiered, *again(A, OTHER, A))
    assert records[2].cached == 12
    assert tiered.loaded == {"tier 0": 0}


def test_the_lower_tier_has_what_the_upper_forgot():
    tiered = memory((3, FAST), (20, SLOW))
    records = serve(tiered, *again(A, OTHER, A))
    assert tiered.loaded == {"tier 0": 0, "tier 1": 12}
    assert records[2].time_to_first_token == 1000 + 12 * 5 + 10


def test_what_was_read_is_promoted():
    tiered = memory((20, FAST))
    records = serve(tiered, *again(A, OTHER, A, A))
    assert records[3].cached == 12
    assert tiered.loaded == {"tier 0": 12}


def test_what_is_dearer_to_read_than_to_compute_is_computed():
    tiered = memory((20, HOPELESS))
    records = serve(tiered, *again(A, OTHER, A))
    assert records[2].cached == 0
    assert tiered.loaded == {"tier 0": 0}


@pytest.mark.parametrize("pages", [1, 5])
def test_preempted_requests_leave_what_they_computed_in_the_tiers(pages):
    growing = [request(range(100 * number, 100 * number + 6), 9) for number in range(3)]
    records = serve(memory((pages, FAST), device=6), *growing)
    assert sum(record.preemptions for record in records) > 0
    assert all(record.finished for record in records)
