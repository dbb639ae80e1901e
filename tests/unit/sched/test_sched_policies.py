"""What each policy decides, in cases that can be followed by hand; and what all of them promise."""

import doctest
import math
from importlib import import_module
from pathlib import Path

import pytest

import nexemu.sched
from nexemu.sched import POLICIES, Setup
from nexemu.sched.ageing import Ageing
from nexemu.sched.lottery import Lottery
from nexemu.sched.mlfq import Mlfq
from nexemu.sched.plas import Plas
from nexemu.sched.prediction import predicted
from nexemu.sched.priority import Priority
from nexemu.sched.sjf import Sjf
from nexemu.sched.srpt import Srpt
from nexemu.sched.stride import Stride

MODULES = sorted(
    file.stem for file in Path(nexemu.sched.__file__).parent.glob("*.py") if file.stem != "__init__"
)


def ready(policy, *pids):
    for pid in pids:
        policy.ready(pid)
    return policy


def run(policy, ticks):
    """Let the policy's choice run for ``ticks``, and have to stop; its pid."""
    pid = policy.choose()
    policy.ran(pid, ticks)
    policy.ready(pid)
    return pid


def drain(policy):
    return [policy.choose() for _ in range(policy.waiting())]


@pytest.mark.parametrize("name", MODULES)
def test_the_docstrings_are_true(name):
    assert doctest.testmod(import_module(f"nexemu.sched.{name}")).failed == 0


@pytest.mark.parametrize("name", POLICIES)
class TestEveryPolicy:
    @pytest.fixture
    def policy(self, name):
        return POLICIES[name](Setup(quantum=10))

    def test_an_empty_one_chooses_nobody(self, policy):
        assert policy.choose() is None
        assert policy.waiting() == 0

    def test_each_pid_is_chosen_once(self, policy):
        ready(policy, 3, 4, 5)
        assert policy.waiting() == 3
        assert sorted(drain(policy)) == [3, 4, 5]
        assert policy.choose() is None

    def test_ready_twice_is_queued_once(self, policy):
        ready(policy, 3, 4, 3)
        assert policy.waiting() == 2
        assert sorted(drain(policy)) == [3, 4]

    def test_forgotten_is_never_chosen(self, policy):
        ready(policy, 3, 4, 5)
        policy.forget(4)
        policy.forget(99)
        assert policy.waiting() == 2
        assert sorted(drain(policy)) == [3, 5]

    def test_a_forgotten_pid_can_come_again(self, policy):
        ready(policy, 3)
        policy.forget(3)
        ready(policy, 3)
        assert drain(policy) == [3]

    def test_nobody_stops_for_an_empty_queue(self, policy):
        ready(policy, 3)
        assert policy.choose() == 3
        policy.ran(3, 5)
        assert not policy.preempts(3)

    def test_a_quantum_is_positive_or_none(self, policy):
        ready(policy, 3)
        policy.choose()
        policy.ran(3, 5)
        assert policy.quantum(3) is None or policy.quantum(3) > 0


class TestSjf:
    def test_it_lets_the_running_job_end(self):
        policy = ready(Sjf({1: 10, 2: 1}.__getitem__), 1)
        policy.choose()
        policy.ready(2)
        assert not policy.preempts(1)


class TestSrpt:
    def test_equal_rests_do_not_preempt(self):
        policy = ready(Srpt({1: 5, 2: 4}.__getitem__), 1)
        policy.choose()
        policy.ran(1, 1)
        policy.ready(2)
        assert not policy.preempts(1)

    def test_who_overruns_a_prediction_keeps_the_processor(self):
        policy = ready(Srpt({1: 2, 2: 1}.__getitem__), 1)
        policy.choose()
        policy.ran(1, 7)
        policy.ready(2)
        assert not policy.preempts(1)


class TestPrediction:
    def test_without_error_it_is_the_truth(self):
        assert predicted({1: 77}.__getitem__, sigma=0)(1) == 77

    def test_the_error_is_log_normal(self):
        """10,000 logarithms of the error have mean 0 and deviation 0.5 to within four standard errors."""
        guess = predicted(lambda _: 10**9, sigma=0.5, seed=7)
        logs = [math.log(guess(pid) / 10**9) for pid in range(10_000)]
        mean = sum(logs) / len(logs)
        deviation = math.sqrt(sum((x - mean) ** 2 for x in logs) / len(logs))
        assert abs(mean) < 4 * 0.5 / 100
        assert abs(deviation - 0.5) < 4 * 0.5 / math.sqrt(2 * 10_000)


class TestPriority:
    def test_classes_first_and_arrival_within(self):
        policy = ready(Priority({1: 1, 2: 0, 3: 1, 4: 0}.__getitem__), 1, 2, 3, 4)
        assert drain(policy) == [2, 4, 1, 3]

    def test_who_slept_goes_behind_those_who_wait(self):
        policy = ready(Priority(lambda _: 0), 1, 2, 3)
        policy.choose()
        policy.ran(1, 5)  # and sleeps
        assert policy.choose() == 2
        policy.ready(1)
        assert drain(policy) == [3, 1]

    def test_who_has_to_stop_for_a_more_urgent_one_keeps_its_place(self):
        policy = ready(Priority({1: 1, 2: 1, 3: 0}.__getitem__), 1, 2)
        policy.choose()
        policy.ready(3)
        assert policy.preempts(1)
        policy.ready(1)
        assert drain(policy) == [3, 1, 2]


class TestAgeing:
    def test_without_patience_it_is_first_come_first_served(self):
        policy = Ageing({1: 5, 2: 0}.__getitem__, patience=0)
        ready(policy, 1)
        policy.ran(9, 1)
        ready(policy, 2)
        assert drain(policy) == [1, 2]

    def test_only_waiting_counts(self):
        """1 has been there for longest, and was asleep or running for all of it."""
        policy = ready(Ageing({1: 0, 2: 1, 3: 1}.__getitem__, patience=100), 1)
        assert run(policy, 500) == 1
        assert policy.choose() == 1  # and sleeps
        ready(policy, 2)
        policy.ran(9, 101)
        ready(policy, 1)
        assert drain(policy) == [2, 1]


class TestMlfq:
    def test_allotments_double_down_to_the_last_level(self):
        policy = ready(Mlfq(quantum=10, levels=3), 1)
        allotments = []
        for _ in range(5):
            policy.choose()
            allotments.append(policy.quantum(1))
            policy.ran(1, allotments[-1])
            policy.ready(1)
        assert allotments == [10, 20, 40, 40, 40]

    def test_stopping_just_before_the_end_of_an_allotment_does_not_renew_it(self):
        policy = ready(Mlfq(quantum=10), 1)
        run(policy, 9)
        policy.choose()
        assert policy.quantum(1) == 1

    def test_a_newcomer_preempts_whoever_has_sunk(self):
        policy = ready(Mlfq(quantum=10), 1)
        run(policy, 10)
        policy.choose()
        assert not policy.preempts(1)
        policy.ready(2)
        assert policy.preempts(1)

    def test_those_at_the_last_level_take_turns(self):
        policy = ready(Mlfq(quantum=10, levels=1), 1, 2)
        assert [run(policy, 10) for _ in range(4)] == [1, 2, 1, 2]

    def test_a_boost_brings_everybody_to_the_top(self):
        policy = ready(Mlfq(quantum=10, boost=50), 1)
        run(policy, 10)
        run(policy, 20)
        assert policy.choose() == 1
        policy.ran(1, 20)
        assert policy.quantum(1) == 10
        policy.ready(1)
        policy.ready(2)
        assert drain(policy) == [1, 2]

    def test_without_a_boost_a_long_job_starves_while_short_ones_come(self):
        policy = ready(Mlfq(quantum=10), 1)
        run(policy, 10)
        for pid in range(2, 100):
            policy.ready(pid)
            assert policy.choose() == pid
            policy.ran(pid, 10)
            policy.forget(pid)
        assert policy.choose() == 1


class TestPlas:
    def test_the_program_counts_not_the_pid(self):
        """A new pid of a program that was served goes behind a pid of one that was not."""
        policy = ready(Plas({1: 7, 2: 8, 3: 7}.__getitem__, quantum=10), 1)
        policy.choose()
        policy.ran(1, 3)
        policy.forget(1)
        ready(policy, 3, 2)
        assert drain(policy) == [2, 3]

    def test_a_queued_pid_sinks_when_its_program_is_served(self):
        policy = ready(Plas({1: 7, 2: 7, 3: 8}.__getitem__, quantum=10), 1, 2, 3)
        assert policy.choose() == 1
        policy.ran(1, 3)
        assert policy.preempts(1)
        assert drain(policy) == [3, 2]


class TestStride:
    def test_shares_are_exact(self):
        shares = {1: 100, 2: 50, 3: 250}
        policy = ready(Stride(shares.__getitem__, quantum=10), 1, 2, 3)
        turns = [run(policy, 10) for _ in range(80)]
        assert {pid: turns.count(pid) for pid in shares} == {1: 20, 2: 10, 3: 50}

    def test_to_sleep_earns_no_credit(self):
        policy = ready(Stride({1: 1, 2: 1}.__getitem__, quantum=10), 1, 2)
        assert policy.choose() == 1  # and sleeps
        for _ in range(50):
            assert run(policy, 10) == 2
        policy.ready(1)
        turns = [run(policy, 10) for _ in range(20)]
        assert 9 <= turns.count(1) <= 11


class TestLottery:
    def test_shares_are_right_on_average(self):
        """10,000 draws at p = 0.75: within four standard errors, 4 * sqrt(p (1 - p) / n)."""
        policy = ready(Lottery({1: 3, 2: 1}.__getitem__, quantum=10, seed=5), 1, 2)
        wins = [run(policy, 10) for _ in range(10_000)].count(1)
        assert abs(wins / 10_000 - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 10_000)

    def test_the_seed_decides(self):
        def turns(seed):
            policy = ready(Lottery(lambda _: 1, quantum=10, seed=seed), 1, 2)
            return [run(policy, 10) for _ in range(64)]

        assert turns(1) == turns(1) != turns(2)


def test_policies_that_need_sizes_are_not_for_a_kernel():
    assert {name for name, policy in POLICIES.items() if not policy.online} == {
        "sjf",
        "srpt",
        "srpt-predicted",
    }
