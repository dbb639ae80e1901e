"""The KV experiments give the values of the course notes and of the lecture, exactly where they can."""

import pytest
from lab_support import check_complete

from nexemu.lab.experiment import Trial
from nexemu.lab.kv import KV_EXPERIMENTS
from nexemu.lab.kv.turns import prefix_hits, requests, whole_match_hits

SLOW = {"kv-paging", "kv-prefixes", "kv-queues", "kv-flops", "kv-tiers", "kv-balloon"}


@pytest.fixture
def checks(report_of):
    return lambda name: {check.what: check for check in report_of(name).checks}


def slow(names):
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


@pytest.mark.parametrize("name", slow(KV_EXPERIMENTS))
def test_a_report_is_complete(report_of, name):
    check_complete(report_of(name))


@pytest.mark.parametrize("name", slow(KV_EXPERIMENTS))
def test_every_value_is_as_it_should_be(report_of, name):
    """Equal to the document's, or on the side of 1 or 0 that it says, or with a reason why not."""
    for check in report_of(name).checks:
        if isinstance(check.lecture, str) and check.lecture.startswith("above "):
            assert check.ours > float(check.lecture.removeprefix("above ")), check.what
        elif not check.why:
            assert check.ours == check.lecture, check.what


@pytest.mark.parametrize(
    ("name", "what", "low", "high"),
    [
        ("kv-turns", "times fewer tokens", 3.7, 4.5),
        ("kv-turns", "tokens in a node", 28, 36),
        ("kv-hits", "prefixes: hit rate with 500 tokens, %", 60, 66),
        ("kv-hits", "prefixes: hit rate with room for all, %", 87, 91),
        ("kv-locks", "tokens in the cache", 1_900, 2_300),
        ("kv-locks", "evictable while five requests run", 1_400, 1_800),
    ],
)
def test_what_was_drawn_is_near_the_lectures(checks, name, what, low, high):
    assert low < checks(name)[what].ours < high
    assert low < checks(name)[what].lecture < high


@pytest.mark.parametrize("seed", range(2, 6))
def test_other_conversations_say_the_same(seed):
    values = {check.what: check.ours for check in KV_EXPERIMENTS["kv-turns"].run(Trial(seed)).checks}
    assert 3.5 < values["times fewer tokens"] < 4.7
    assert 27 < values["tokens in a node"] < 37


def test_more_room_never_hits_less():
    queue = requests(1, 60)
    rates = [prefix_hits(queue, capacity) for capacity in (200, 400, 800, 1_600, 3_200)]
    assert rates == sorted(rates)


def test_whole_prompts_hit_when_a_prompt_comes_again():
    queue = requests(1, 3)
    assert whole_match_hits(queue, 10_000) == 0
    assert whole_match_hits([*queue, *queue], 10_000) == 50
    assert whole_match_hits([*queue, *queue], 10) == 0


@pytest.mark.slow
def test_blocks_beat_every_reserve(report_of):
    (table,) = report_of("kv-paging").tables
    throughput = {row[0]: row[1] for row in table.rows}
    assert (
        throughput["max"]
        < throughput["limit"]
        < throughput["pow2"]
        < throughput["oracle"]
        < throughput["paged"]
    )
