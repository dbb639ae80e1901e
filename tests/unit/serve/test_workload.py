from itertools import pairwise

import pytest

from nexemu.evict.lru import Lru
from nexemu.kv.radix_cache import RadixCache
from nexemu.serve.workload import WORKLOADS, Chat, arriving, conversations


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_same_seed_gives_the_same_requests(name):
    assert WORKLOADS[name](3, 20, 2.0) == WORKLOADS[name](3, 20, 2.0)
    assert WORKLOADS[name](3, 20, 2.0) != WORKLOADS[name](4, 20, 2.0)


@pytest.mark.parametrize("name", WORKLOADS)
def test_arrivals_ascend_at_the_rate_asked_for(name):
    requests = WORKLOADS[name](3, 400, 2.0)
    arrivals = [request.arrival for request in requests]
    assert arrivals == sorted(arrivals)
    first = {request.program: request.arrival for request in reversed(requests)}
    assert len(first) == 400
    assert 400 / 2.0 * 0.8 < max(first.values()) / 1e9 < 400 / 2.0 * 1.2


def test_a_turn_begins_with_all_that_was_said():
    for turns in conversations(1, 30, Chat(turns=(2, 4))):
        for before, after in pairwise(turns):
            said = before.prompt + before.output
            assert after.prompt[: len(said)] == said
            assert 8 <= len(after.prompt) - len(said) <= 22


def test_applications_share_the_system_prompt_only():
    prompts = [turns[0].prompt for turns in conversations(1, 60)]
    assert len({tuple(prompt[:40]) for prompt in prompts}) == 1
    assert len({tuple(prompt[:86]) for prompt in prompts}) == 4
    assert len({tuple(prompt[40:41]) for prompt in prompts}) == 4


def test_turns_of_a_program_stay_in_order():
    requests = arriving(conversations(1, 40), rate=5.0, pause=1.0, seed=1)
    lengths = {}
    for request in requests:
        assert len(request.prompt) > lengths.get(request.program, 0)
        lengths[request.program] = len(request.prompt)


def test_unique_requests_share_nothing_and_have_a_long_tail():
    requests = WORKLOADS["unique"](1, 400, 1.0)
    tokens = [token for request in requests for token in [*request.prompt, *request.output]]
    assert len(tokens) == len(set(tokens))
    lengths = sorted(len(request.prompt) for request in requests)
    assert sum(lengths[-40:]) > 0.3 * sum(lengths)
    assert all(len(request.output) <= request.limit for request in requests)


def test_documents_are_asked_about_again():
    cache = RadixCache(16, Lru())
    known = total = 0
    for request in WORKLOADS["documents"](1, 100, 1.0):
        known += cache.insert(request.prompt, range(len(request.prompt))).known
        total += len(request.prompt)
    assert known > total / 2
