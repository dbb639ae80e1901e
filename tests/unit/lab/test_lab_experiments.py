"""The experiments give the values that the lecture, theory or arithmetic gave before."""

import numpy as np
import pytest
from lab_support import QUICK, check_complete

from nexemu.lab.caching.belady import contents, misses, nested
from nexemu.lab.caching.patterns import CACHE, PATTERNS
from nexemu.lab.paging.allocators import Contiguous, Paged
from nexemu.lab.paging.block_tables import entries
from nexemu.lab.paging.cow import beam_copies, copies_written, sampled
from nexemu.lab.paging.requests import Request, requests, serve
from nexemu.lab.paging.thrash import effective_access_ns, largest_fault_rate
from nexemu.lab.paging.translation import place_of, translate
from nexemu.lab.scheduling import workload
from nexemu.lab.scheduling.boost import long_job_ends
from nexemu.lab.scheduling.convoy import mean
from nexemu.lab.scheduling.priority import two_classes
from nexemu.lab.scheduling.programs import program_slowdowns, programs
from nexemu.lab.scheduling.tails import pollaczek_khinchine
from nexemu.sched.fcfs import Fcfs
from nexemu.sched.simulate import simulate


@pytest.fixture
def ours(report_of):
    """An experiment's values, by what they are."""
    return lambda name: {check.what: check.ours for check in report_of(name).checks}


@pytest.mark.parametrize("name", QUICK)
def test_a_report_is_complete(report_of, name):
    check_complete(report_of(name))


@pytest.mark.parametrize("name", QUICK)
def test_what_can_be_computed_is_the_lectures_or_says_why_not(report_of, name):
    for check in report_of(name).checks:
        if not isinstance(check.lecture, str) and not check.why:
            assert check.ours == pytest.approx(check.lecture, rel=0.02), check.what


# ---- scheduling -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "policy", "expected"),
    [
        ((10, 1, 1), "fcfs", 11),
        ((10, 1, 1), "sjf", 5),
        ((8, 4, 2, 1), "fcfs", 12.25),
        ((8, 4, 2, 1), "sjf", 6.5),
        ((8, 4, 2, 1), "round-robin", 9.25),
    ],
)
def test_mean_responses_by_hand(sizes, policy, expected):
    assert mean(sizes, policy) == expected


@pytest.mark.parametrize("law", workload.LAWS)
def test_all_laws_have_mean_1(law):
    """200,000 draws, to within six standard errors of the widest: a long tail's deviation is 7.3."""
    sizes = workload.LAWS[law](np.random.default_rng(1), 200_000)
    assert sizes.mean() == pytest.approx(1, abs=6 * 7.3 / 200_000**0.5)
    assert sizes.min() > 0


def test_jobs_keep_the_processor_as_busy_as_asked():
    jobs = workload.jobs_of(workload.exponential, seed=1, load=0.5, count=50_000)
    assert jobs.size.sum() / jobs.arrival[-1] == pytest.approx(0.5, rel=0.03)


def test_pollaczek_and_khinchine_are_right_about_first_come():
    jobs = workload.jobs_of(workload.bimodal, seed=3, load=workload.LOAD, count=60_000)
    served = workload.mean_response(simulate(jobs, Fcfs()))
    assert served == pytest.approx(pollaczek_khinchine(jobs), rel=0.15)


def test_a_long_job_starves_without_a_boost():
    assert long_job_ends(None) == 1_020  # after the last of 1,000 short jobs
    assert long_job_ends(25) < 20 * 25 + 25  # a turn in each period


def test_two_classes_come_mixed_and_in_order():
    jobs = two_classes(1)
    assert (np.diff(jobs.arrival) >= 0).all()
    loads = [jobs.size[jobs.group == group].sum() / jobs.arrival[-1] for group in (0, 1)]
    assert loads == pytest.approx([0.6, 0.3], rel=0.1)


def test_a_program_alone_is_not_slowed_down():
    """Its calls come apart, or queue behind each other: either way it takes as long as it must at least."""
    assert (program_slowdowns(simulate(programs(1), Fcfs())) >= 1).all()


# ---- memory -----------------------------------------------------------------------------------


def test_addresses_and_tokens_of_demo_1():
    assert translate({0: 7, 1: 3, 2: 12, 3: 5}, [5_000, 20_000]) == [13_192, None]
    assert place_of([9, 2, 31], 37) == (31, 5)


@pytest.mark.parametrize(
    ("prompt", "at_once", "parent", "pages"),
    [
        (1_024, True, False, 616),
        (1_024, True, True, 680),
        (1_024, False, True, 168),
        (1_009, True, True, 672),
        (1_016, True, True, 672),
        (1_017, True, True, 680),
        (1_009, False, True, 168),
    ],
)
def test_pages_of_eight_samples(prompt, at_once, parent, pages):
    assert sampled(prompt, at_once, parent) == pages


@pytest.mark.parametrize(("prompt", "copies"), [(1_024, 0), (1_023, 8), (1_009, 8), (1_008, 0)])
def test_only_a_page_that_is_begun_is_copied(prompt, copies):
    assert copies_written(prompt) == copies


def test_beam_search_copies_189_blocks_or_3():
    assert beam_copies(True, prompt=1_000)[0] == 189
    assert beam_copies(False, prompt=1_000)[0] == 3
    assert beam_copies(False, prompt=1_008, steps=1) == [0]


@pytest.mark.parametrize(("block", "count"), [(16, 8_192), (1, 131_072), (100, 1_311)])
def test_entries_of_a_block_table(block, count):
    assert entries(128 << 10, block) == count


def test_access_times_and_their_bounds():
    assert effective_access_ns(0, 100_000) == 100
    assert effective_access_ns(0.05, 100_000) == pytest.approx(5_095)
    assert 100 * largest_fault_rate(2, 100_000) == pytest.approx(0.1, abs=0.001)
    assert 100 * largest_fault_rate(2, 10_000) == pytest.approx(1, abs=0.02)


def test_refusals_are_told_apart():
    """Two runs of 4 with a hole of 2 between them: 4 are free, and no run of 4."""
    queue = [Request(0, 9, 4), Request(1, 2, 2), Request(1.5, 9, 2), Request(3, 9, 4), Request(4, 9, 5)]
    runs = serve(queue, Contiguous(10, "first"))
    pages = serve(queue, Paged(10, 1))
    assert (runs.refused, runs.refused_in_spite) == (40, 20)
    assert (pages.refused, pages.refused_in_spite) == (20, 0)


def test_memory_is_averaged_over_time():
    """3 units, reserved as 5 of 10, for the first of two time units."""
    service = serve([Request(0, 1, 3), Request(2, 3, 1)], Contiguous(10, "first", reserve=5))
    assert (service.stored, service.wasted) == (15, 10)


def test_requests_are_of_the_size_and_load_that_is_said():
    queue = requests(1)
    sizes = [request.size for request in queue]
    work = sum((request.departure - request.arrival) * request.size for request in queue)
    assert max(sizes) == 400
    assert sum(sizes) / len(sizes) == pytest.approx(50, rel=0.05)
    assert work / queue[-1].arrival == pytest.approx(0.9 * 20_000, rel=0.05)


# ---- caching ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "three", "four"), [("fifo", 9, 10), ("lru", 10, 8), ("opt", 7, 6)])
def test_beladys_sequence(policy, three, four):
    assert (misses(policy, 3), misses(policy, 4)) == (three, four)


def test_stack_policies_nest_and_fifo_does_not():
    assert nested("lru")
    assert nested("opt")
    assert not nested("fifo")
    assert contents("fifo", 3)[-1] == {5, 3, 4}


def test_patterns_are_what_they_are_called():
    made = {name: make(np.random.default_rng(1)) for name, make in PATTERNS.items()}
    assert {len(trace) for trace in made.values()} == {30_000}
    assert len(set(made["loop"].tolist())) == CACHE * 6 // 5
    counts = np.bincount(made["zipf"], minlength=1000)
    assert counts[0] / counts[31] == pytest.approx(32**0.8, rel=0.2)  # ranks 1 and 32
    once, uses = np.unique(made["scan"][made["scan"] >= 1_000_000], return_counts=True)
    assert len(once) == 19 * 300
    assert set(uses) == {1}
    halves = np.split(made["drift"], 2)
    popular = [set(np.argsort(np.bincount(half, minlength=1000))[-50:].tolist()) for half in halves]
    assert len(popular[0] & popular[1]) < 15


# ---- those that take seconds ------------------------------------------------------------------


@pytest.mark.slow
def test_the_long_tail_table_is_ordered_as_the_lectures(report_of, ours):
    found = ours("tails")
    table = {row[0]: row[1:] for row in report_of("tails").tables[0].rows}
    exponential, tail, bimodal = ({policy: row[law] for policy, row in table.items()} for law in range(3))
    assert tail["srpt"] < tail["mlfq"] < tail["round-robin"] < tail["sjf"] < tail["fcfs"]
    assert found["long tail, FCFS over SRPT"] == pytest.approx(19, rel=0.1)
    assert tail["mlfq"] < 2 * tail["srpt"]
    assert bimodal["mlfq"] < 2 * bimodal["srpt"]
    assert exponential["mlfq"] == pytest.approx(exponential["fcfs"], rel=0.05)
    assert exponential["fcfs"] == pytest.approx(5, rel=0.1)
    slow = {row[0]: row[2] for row in report_of("tails").tables[1].rows}
    assert slow["srpt"] < slow["fcfs"] < slow["round-robin"] < slow["mlfq"]


@pytest.mark.slow
def test_a_good_quantum_is_between_the_extremes(report_of):
    means = [row[1] for row in report_of("quantum").tables[0].rows]
    best = means.index(min(means))
    assert means[:best] == sorted(means[:best], reverse=True)
    assert means[best:] == sorted(means[best:])
    assert 0 < best < len(means) - 1


@pytest.mark.slow
def test_worse_predictions_are_worse(report_of):
    rows = report_of("prediction").tables[0].rows
    guessed = [row[1] for row in rows[:5]]
    assert guessed == sorted(guessed)
    assert guessed[-1] < rows[-1][1]  # FCFS
    assert rows[-2][2] < min(row[2] for row in rows[1:5])  # MLFQ's slowdown


@pytest.mark.slow
def test_ageing_trades_one_class_for_the_other(report_of):
    rows = report_of("priority").tables[0].rows
    interactive, batch = [row[1] for row in rows], [row[3] for row in rows]
    assert interactive == sorted(interactive)
    assert batch == sorted(batch, reverse=True)
    assert interactive[0] == pytest.approx(2.5, rel=0.1)


@pytest.mark.slow
def test_programs_are_served_better_where_programs_count(ours):
    assert ours("programs")["mean slowdown of programs, MLFQ over PLAS"] > 1


@pytest.mark.slow
def test_fragments_hurt_as_the_lecture_says(ours):
    found = ours("fragments")
    assert found["pages of 16: internal fragmentation, %"] == pytest.approx(14, abs=1)
    assert found["400 reserved: refused, %"] == pytest.approx(86, abs=1)
    assert found["400 reserved: memory that stores something, %"] == pytest.approx(12, abs=1)
    assert found["most refused because of fragments"] == "worst fit"
    assert found["fewest refused"] == "pages of 1"
    assert found["pages of 16: refused, over first fit's"] > 1


@pytest.mark.slow
def test_thrashing_has_its_knee_at_the_working_set(ours):
    found = ours("thrash")
    assert found["enough frames: faults, %"] == pytest.approx(5, abs=0.5)
    assert 20 < found["enough frames: slowdown"] < 100
    assert abs(found["steepest fall of the fault rate: around frame"] - 200) <= 25


@pytest.mark.slow
def test_the_hit_rates_are_the_lectures(ours):
    found = ours("zipf")
    for policy, hits in (("lru", 37.9), ("arc", 45.8), ("opt", 62.7)):
        assert found[f"{policy}, cache of 100: hits, %"] == pytest.approx(hits, abs=1)
    assert found["best two that can run live"] == "lfu, arc"
    failing = ours("patterns")
    assert failing["loop, LRU: hits, %"] == 0
    assert failing["drift, LFU: hits, %"] == pytest.approx(30.9, abs=1)


@pytest.mark.slow
def test_the_curve_is_what_simulations_say(ours):
    assert ours("curve")["sizes at which the curve and a simulation differ"] == 0
