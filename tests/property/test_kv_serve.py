"""Every memory serves every trace to its end, a step at a time, and loses nothing on the way."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from serve_support import COSTS, MEMORIES, request

from nexemu.sched import POLICIES
from nexemu.serve.engine import Batch, Engine
from nexemu.serve.schedulers import SCHEDULERS, scheduler_for

REQUESTS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 1), min_size=1, max_size=20),
        st.lists(st.integers(0, 1), min_size=1, max_size=12),
        st.integers(0, 4000),
    ),
    max_size=8,
).map(lambda made: [request(p, o, arrival=at) for p, o, at in sorted(made, key=lambda each: each[2])])


def serve(requests, memory, scheduler, batch):
    """Run to the end, audited after every step; at most 200 steps a token can be needed."""
    engine = Engine(requests, memory, scheduler, COSTS, batch)
    for _ in range(200 * (1 + sum(each.tokens for each in requests))):
        if engine.done:
            return engine.outcome
        assert engine.step()
        memory.audit()
        assert sum(memory.usage()) == 32
    raise AssertionError("the engine does not come to an end")


@pytest.mark.parametrize("memory", MEMORIES)
@given(requests=REQUESTS, name=st.sampled_from(sorted(SCHEDULERS)), batch=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_every_request_ends_or_is_refused(memory, requests, name, batch):
    scheduler = scheduler_for(name, requests, lambda each: len(each.prompt) % 3)
    made = MEMORIES[memory](32, 4)
    outcome = serve(requests, made, scheduler, Batch(batch, 16))
    for record in outcome.records:
        if record.refused:
            assert record.finished is None
            continue
        assert record.request.arrival <= record.admitted < record.first_token <= record.finished
        assert 0 <= record.cached < len(record.request.prompt)
        assert record.recomputed == 0 or record.preemptions
    usage = made.usage()
    assert usage.cached + usage.free == 32


@pytest.mark.parametrize("memory", MEMORIES)
@given(requests=REQUESTS)
@settings(max_examples=15, deadline=None)
def test_the_same_trace_gives_the_same_run(memory, requests):
    runs = [serve(requests, MEMORIES[memory](32, 4), POLICIES["fcfs"](), Batch()).samples for _ in range(2)]
    assert runs[0] == runs[1]


@given(requests=REQUESTS)
@settings(max_examples=60, deadline=None)
def test_block_tables_and_the_tree_hit_the_same_where_nothing_is_evicted_or_runs_side_by_side(requests):
    hits = []
    for memory in ("prefix", "radix"):
        engine = Engine(requests, MEMORIES[memory](4000, 4), POLICIES["fcfs"](), COSTS, Batch(requests=1))
        hits.append([record.cached for record in engine.run().records])
    assert hits[0] == hits[1]
