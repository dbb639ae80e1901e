"""Times that can be worked out on paper, and queueing theory."""

import numpy as np
import pytest

from nexemu.sched import POLICIES, Setup
from nexemu.sched.fcfs import Fcfs
from nexemu.sched.round_robin import RoundRobin
from nexemu.sched.simulate import Jobs, simulate
from nexemu.sched.sjf import Sjf
from nexemu.sched.srpt import Srpt

UNIT = 10_000  # ticks in the mean size of a job


def setup(jobs, **how):
    return Setup(size_of=jobs.size.tolist().__getitem__, class_of=jobs.group.tolist().__getitem__, **how)


def outcome(name, jobs, **how):
    return simulate(jobs, POLICIES[name](setup(jobs, **how)))


@pytest.mark.parametrize(("name", "mean"), [("fcfs", 11), ("sjf", 5), ("srpt", 5)])
def test_the_convoy_of_10_1_1(name, mean):
    assert outcome(name, Jobs.at_once(10, 1, 1)).response.mean() == mean


@pytest.mark.parametrize(
    ("name", "ends"),
    [("fcfs", [8, 12, 14, 15]), ("sjf", [15, 7, 3, 1]), ("round-robin", [15, 11, 7, 4])],
)
def test_8_4_2_1_end_when_the_exercise_says(name, ends):
    assert outcome(name, Jobs.at_once(8, 4, 2, 1), quantum=1).finish.tolist() == ends


def test_srpt_takes_over_and_sjf_does_not():
    jobs = Jobs(np.array([0, 1]), np.array([10, 2]), np.zeros(2, int))
    assert simulate(jobs, Sjf([10, 2].__getitem__)).finish.tolist() == [10, 12]
    assert simulate(jobs, Srpt([10, 2].__getitem__)).finish.tolist() == [12, 3]


def test_an_idle_processor_waits_for_the_next_arrival():
    jobs = Jobs(np.array([5, 100]), np.array([10, 1]), np.zeros(2, int))
    done = simulate(jobs, Fcfs())
    assert done.first_run.tolist() == [5, 100]
    assert done.finish.tolist() == [15, 101]
    assert done.response.tolist() == [10, 1]
    assert done.first_wait.tolist() == [0, 0]


def test_a_switch_costs_time_and_staying_costs_none():
    done = simulate(Jobs.at_once(4, 2), RoundRobin(quantum=2), switch_ticks=1)
    assert done.finish.tolist() == [8, 5]  # 0 0 _ 1 1 _ 0 0
    assert (done.switches, done.switching) == (2, 2)


def test_who_arrives_as_a_quantum_ends_goes_first():
    jobs = Jobs(np.array([0, 2]), np.array([4, 1]), np.zeros(2, int))
    assert simulate(jobs, RoundRobin(quantum=2)).finish.tolist() == [5, 3]


def test_the_slowdown_of_the_largest():
    done = simulate(Jobs.at_once(10, 1, 1, 1), Fcfs())
    assert done.slowdown.tolist() == [1, 11, 12, 13]
    assert done.slowdown_of_largest(0.25) == 1
    assert done.slowdown_of_largest() == 1


# ---- theory -----------------------------------------------------------------------------------


def poisson(size, load, seed):
    """Jobs of these sizes, arriving at random so that the processor is busy for ``load`` of the time."""
    gaps = np.random.default_rng(seed).exponential(1 / load, len(size))
    arrival = np.cumsum(gaps * UNIT).astype(np.int64)
    ticks = np.maximum(1, size * UNIT).astype(np.int64)
    return Jobs(arrival, ticks, np.zeros(len(size), np.int64))


@pytest.fixture(scope="module")
def exponential():
    return poisson(np.random.default_rng(1).exponential(1, 100_000), 0.8, seed=2)


def mean(name, jobs, **how):
    return outcome(name, jobs, **how).response.mean() / UNIT


def test_m_m_1_is_5_at_load_0_8_first_come_and_shared(exponential):
    """1 / (1 - 0.8) = 5 for both. 100,000 jobs are about 1,000 independent busy periods: 10 %."""
    assert mean("fcfs", exponential) == pytest.approx(5, rel=0.1)
    assert mean("round-robin", exponential, quantum=UNIT // 10) == pytest.approx(5, rel=0.1)


def test_mlfq_gains_nothing_where_sizes_are_memoryless(exponential):
    assert mean("mlfq", exponential, quantum=UNIT // 2) == pytest.approx(mean("fcfs", exponential), rel=0.05)


@pytest.mark.parametrize(("probability", "small", "large"), [(0.9, 0.5, 5.5), (0.5, 0.5, 1.5)])
def test_first_come_is_as_pollaczek_and_khinchine_say(probability, small, large):
    """T = 1 + load E[S^2] / (2 (1 - load)) with E[S] = 1."""
    rng = np.random.default_rng(3)
    size = np.where(rng.random(100_000) < probability, small, large)
    second = probability * small**2 + (1 - probability) * large**2
    assert mean("fcfs", poisson(size, 0.7, seed=4)) == pytest.approx(1 + 0.7 * second / 0.6, rel=0.1)


@pytest.mark.parametrize("sigma", [0.5, 1, 1.65])
def test_nobody_beats_srpt(sigma):
    size = np.random.default_rng(5).lognormal(-(sigma**2) / 2, sigma, 5_000)
    jobs = poisson(size, 0.8, seed=6)
    best = mean("srpt", jobs)
    for name in POLICIES:
        assert mean(name, jobs, quantum=UNIT // 2) >= best


def test_a_long_tail_is_where_knowing_pays():
    """SRPT < MLFQ < round robin < first come, first served."""
    size = np.random.default_rng(7).lognormal(-(1.65**2) / 2, 1.65, 50_000)
    jobs = poisson(size, 0.8, seed=8)
    means = [mean(name, jobs, quantum=UNIT // 2) for name in ("srpt", "mlfq", "round-robin", "fcfs")]
    assert means == sorted(means)
    assert means[0] * 10 < means[3]
    assert means[1] < 2 * means[0]
