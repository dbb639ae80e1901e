import pytest
from serve_support import COSTS, MEMORIES, request

from nexemu.errors import KernelPanic
from nexemu.evict.lru import Lru
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.radix_cache import RadixCache
from nexemu.sched.fcfs import Fcfs
from nexemu.sched.sjf import Sjf
from nexemu.serve.contiguous_memory import ContiguousMemory
from nexemu.serve.costs import Costs
from nexemu.serve.engine import Batch
from nexemu.serve.memory import Usage
from nexemu.serve.paged_memory import PagedMemory
from nexemu.serve.radix_memory import RadixMemory
from nexemu.serve.schedulers import LongestPrefix


def starts(outcome):
    return [record.admitted for record in outcome.records]


def ends(outcome):
    return [record.finished for record in outcome.records]


# ---- time -----------------------------------------------------------------------------------------


def test_one_request_by_hand(engine):
    """Six prompt tokens in the first step; then two steps that decode, with 7 and 8 tokens of context."""
    outcome = engine([request(6, 3)]).run()
    first = 1000 + 6 * 10
    assert outcome.records[0].first_token == first
    assert outcome.records[0].finished == first + (1000 + 100 + 7) + (1000 + 100 + 8)
    assert outcome.steps == 3


def test_a_new_prompt_and_an_old_request_share_a_step(engine):
    outcome = engine([request(6, 2), request(4, 1, arrival=1)]).run()
    assert ends(outcome) == [1060 + 1000 + 40 + 100 + 7] * 2


def test_the_clock_jumps_when_nobody_is_there(engine):
    outcome = engine([request(4, 1), request(4, 1, arrival=1_000_000)]).run()
    assert starts(outcome) == [0, 1_000_000]
    assert outcome.elapsed == 1_000_000 + 1040


def test_nothing_runs_in_between(engine):
    outcome = engine([request(4, 1), request(4, 1, arrival=1_000_000)]).run()
    assert [(sample.now, sample.running) for sample in outcome.samples] == [
        (1040, 0),
        (1040, 0),
        (1_000_000, 0),
    ]
    late = engine([request(4, 1, arrival=1_000_000)]).run()
    assert [(sample.now, sample.running) for sample in late.samples] == [(0, 0), (1_000_000, 0)]


def test_a_batch_is_full(engine):
    outcome = engine([request(4, 2), request(4, 2, arrival=1)], batch=Batch(requests=1)).run()
    assert starts(outcome)[1] == ends(outcome)[0]


def test_a_step_computes_so_many_prompt_tokens(engine):
    requests = [request(range(start, start + 4), 1) for start in (0, 10, 20)]
    outcome = engine(requests, batch=Batch(tokens=8)).run()
    assert ends(outcome) == [1080, 1080, 1080 + 1040]


def test_nothing_to_serve(engine):
    outcome = engine([]).run()
    assert (outcome.records, outcome.steps, outcome.elapsed) == ([], 0, 0)


# ---- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", MEMORIES)
def test_what_cannot_fit_is_refused_and_the_others_are_served(engine, memory):
    outcome = engine([request(60, 9), request(4, 2)], memory).run()
    refused, served = outcome.records
    assert refused.refused
    assert refused.finished is None
    assert served.finished is not None


@pytest.mark.parametrize("memory", ["oracle", "paged", "prefix", "swap", "radix"])
def test_what_just_fits_is_served(engine, memory):
    """The last output token is never stored."""
    assert engine([request(60, 5)], memory).run().records[0].finished is not None


@pytest.mark.parametrize("memory", MEMORIES)
def test_everything_is_given_back(engine, memory):
    serving = engine([request(9, 7, arrival=number) for number in range(9)], memory)
    serving.run()
    serving.memory.audit()
    usage = serving.memory.usage()
    assert (usage.stored, usage.reserved, usage.internal) == (0, 0, 0)
    assert usage.cached + usage.free == 64


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_kinds_of_memory_add_up(engine, memory):
    outcome = engine([request(9, 7, arrival=number) for number in range(9)], memory).run()
    assert outcome.samples
    assert {sum(sample.usage) for sample in outcome.samples} == {64}


@pytest.mark.parametrize(
    ("memory", "usage"),
    [
        ("max", Usage(stored=9, reserved=55)),
        ("limit", Usage(stored=9, reserved=20, free=35)),
        ("pow2", Usage(stored=9, reserved=7, free=48)),
        ("oracle", Usage(stored=9, reserved=1, free=54)),
        ("paged", Usage(stored=9, internal=3, free=52)),
        ("prefix", Usage(stored=9, internal=3, free=52)),
        ("radix", Usage(stored=9, internal=3, free=52)),
    ],
)
def test_where_the_memory_is(engine, memory, usage):
    """Nine tokens of ten that will come, of 29 that were allowed."""
    serving = engine([request(9, 2, limit=20)], memory)
    serving.step()
    assert serving.memory.usage() == usage


def test_the_maximum_lets_in_one_where_blocks_let_in_many(engine):
    requests = [request(range(10 * number, 10 * number + 4), 5) for number in range(8)]
    most = {
        memory: max(sample.running for sample in engine(requests, memory).run().samples)
        for memory in ("max", "paged")
    }
    assert most == {"max": 1, "paged": 8}


# ---- preemption -----------------------------------------------------------------------------------

GROWING = [request(range(100 * number, 100 * number + 8), 9) for number in range(3)]
"""Three requests of 8 tokens that become 16: all fit into 7 blocks of 4 at first, one and a half later."""


@pytest.mark.parametrize("memory", ["paged", "swap", "radix"])
def test_who_came_last_is_preempted_and_finishes_later(engine, memory):
    outcome = engine(GROWING, memory, slots=28).run()
    assert outcome.records[0].preemptions == 0
    assert outcome.records[2].preemptions > 0
    assert ends(outcome) == sorted(ends(outcome))
    assert starts(outcome) == [0, 0, 0]


def test_what_was_dropped_is_computed_again(engine):
    """The third gives way at 8 tokens, as soon as the others need a block each; the second at 12."""
    outcome = engine(GROWING, "paged", slots=28).run()
    assert [record.recomputed for record in outcome.records] == [0, 12, 8]


def test_what_was_swapped_is_not(engine):
    outcome = engine(GROWING, "swap", slots=28).run()
    assert [record.recomputed for record in outcome.records] == [0, 0, 0]


def test_what_is_in_a_tree_is_at_hand_unless_it_was_evicted(engine):
    outcome = engine(GROWING, "radix", slots=28).run()
    assert sum(record.recomputed for record in outcome.records) < 16


def test_nobody_takes_the_memory_for_which_somebody_had_to_stop(engine):
    """There would be room for the small one at once."""
    outcome = engine([*GROWING, request(2, 1, arrival=1001)], "paged", slots=28).run()
    third, small = outcome.records[2:]
    assert third.preemptions > 0
    assert small.admitted >= outcome.records[0].finished


def test_who_is_on_the_host_once_and_dropped_later_is_computed_again():
    manager = BlockManager(8, 4, host_blocks=3, prefix_caching=False)
    memory = PagedMemory(manager, COSTS)
    asked = request(8, 9)
    memory.admit(0, asked, 0)
    memory.preempt(0)
    assert memory.admit(0, asked, 1).cached == 8
    manager.host.kalloc()
    memory.preempt(0)
    assert memory.admit(0, asked, 1).cached == 0


# ---- the watermark --------------------------------------------------------------------------------


def watched(kind):
    """Four blocks of four tokens, one of which admission leaves free."""
    if kind == "radix":
        return RadixMemory(4, RadixCache(4, Lru()), watermark=1)
    return PagedMemory(BlockManager(4, 4, watermark=1), COSTS)


@pytest.mark.parametrize("kind", ["paged", "radix"])
def test_admission_leaves_the_watermark_and_growth_uses_it(kind):
    memory = watched(kind)
    assert memory.admit(0, request(range(8), 9), 0) == (0, 0)
    assert memory.admit(1, request(range(50, 58), 1), 0) is None
    for token in range(8):
        memory.append(0, token)
    assert memory.usage().free == 0


@pytest.mark.parametrize("kind", ["paged", "radix"])
def test_what_would_touch_the_watermark_even_alone_is_refused(kind):
    assert watched(kind).refusal(request(12, 1)) == ""
    assert "it needs 5 blocks" in watched(kind).refusal(request(13, 1))


# ---- sharing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["prefix", "radix"])
def test_a_prompt_that_was_there_is_not_computed(engine, memory):
    prompt = range(9)
    outcome = engine([request(prompt, 1), request(prompt, 1, arrival=2000)], memory).run()
    assert [record.cached for record in outcome.records] == [0, 8]
    assert outcome.records[1].time_to_first_token == 1000 + 10


@pytest.mark.parametrize("memory", ["prefix", "radix"])
def test_a_second_turn_finds_the_first_answer(engine, memory):
    first = request(range(8), range(50, 58))
    second = request([*range(8), *range(50, 58), 99], 1, arrival=100_000)
    outcome = engine([first, second], memory).run()
    assert outcome.records[1].cached == 12  # the last output token was never stored, so neither is its page


@pytest.mark.parametrize("memory", ["prefix", "radix"])
def test_namespaces_share_nothing(engine, memory):
    requests = [
        request(range(9), 1, arrival=5000 * number, namespace=name) for number, name in enumerate("abab")
    ]
    assert [record.cached for record in engine(requests, memory).run().records] == [0, 0, 8, 8]


# ---- scheduling -----------------------------------------------------------------------------------


def test_a_scheduler_decides_who_is_next(engine):
    requests = [request(4, 9), request(4, 9, arrival=1), request(4, 2, arrival=2)]
    shortest = Sjf(lambda number: requests[number].tokens)
    outcome = engine(requests, scheduler=shortest, batch=Batch(requests=1)).run()
    assert ends(outcome)[2] == starts(outcome)[1]


def test_a_better_candidate_replaces_one_that_did_not_fit(engine):
    requests = [request(40, 9), request(40, 1, arrival=1), request(4, 1, arrival=1100)]
    shortest = Sjf(lambda number: requests[number].tokens)
    outcome = engine(requests, scheduler=shortest).run()
    assert outcome.records[2].finished < outcome.records[1].admitted


def test_a_scheduler_is_told_of_all_work_and_of_every_end(engine):
    class Listening(Fcfs):
        def __init__(self):
            super().__init__()
            self.told = []

        def ran(self, pid, ticks):
            self.told.append((pid, ticks))

        def forget(self, pid):
            self.told.append((pid, "ended"))

    scheduler = Listening()
    engine([request(6, 2)], scheduler=scheduler).run()
    assert scheduler.told == [(0, 6), (0, 1), (0, 1), (0, "ended")]


@pytest.mark.parametrize(("memory", "cached"), [("paged", 0), ("prefix", 8), ("radix", 8), ("max", 0)])
def test_a_memory_says_what_it_has_of_a_prompt(memory, cached):
    made = MEMORIES[memory](64, 4)
    made.admit(0, request(range(9), 1), 0)
    assert made.cached(request(range(9), 1)) == cached


def test_what_is_longer_than_the_longest_is_refused():
    memory = ContiguousMemory(64, "oracle", 16)
    assert memory.refusal(request(10, 7)) == ""
    assert "17 tokens long, and 16 are allowed" in memory.refusal(request(10, 8))


def test_a_limit_beyond_the_longest_reserves_no_more_than_that():
    memory = ContiguousMemory(64, "limit", 16)
    memory.admit(0, request(4, 3, limit=1000), 0)
    assert memory.usage() == Usage(stored=4, reserved=12, free=48)


def test_a_run_that_was_too_short_is_found_out():
    memory = ContiguousMemory(64, "limit", 16)
    memory.admit(0, request(4, 3, limit=0), 0)
    with pytest.raises(KernelPanic, match="outgrown"):
        memory.append(0, 1)


def test_the_longest_prefix_goes_first():
    requests = [request(4, 1), request(5, 1), request(6, 1)]
    policy = LongestPrefix(requests, lambda each: {4: 0, 5: 3, 6: 1}[len(each.prompt)])
    for number in range(3):
        policy.ready(number)
    policy.ready(0)
    assert policy.waiting() == 3
    policy.forget(2)
    assert [policy.choose() for _ in range(3)] == [1, 0, None]


def test_a_memory_that_promised_too_much_is_found_out(engine):
    class Promising:
        def refusal(self, request):
            return ""

        def admit(self, number, request, generated):
            return None

    with pytest.raises(KernelPanic, match="no room for the next request"):
        engine([request(4, 1)], Promising()).run()


def test_costs_by_hand():
    assert COSTS.of_decode(2, 50) == 200 + 50
    assert COSTS.of_prefill(0, 3) == 30
    assert Costs(prefill=10, attention=1).of_prefill(2, 5) == 30 + 2 + 3 + 4
    assert COSTS.of_transfer(50, 25_000_000_000) == 2
