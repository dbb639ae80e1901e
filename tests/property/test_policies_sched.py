"""Every scheduler against its naive twin, and against what no scheduler may do.

The twins keep a plain list in order of readiness and look through all of it. The twins' simulator
advances tick by tick, so that it shares nothing with the event-driven one but the contract.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexemu.dice import Dice
from nexemu.sched import POLICIES, Setup
from nexemu.sched.prediction import predicted
from nexemu.sched.simulate import Jobs, simulate

QUANTUM, LEVELS, BOOST, PATIENCE = 3, 3, 23, 9


# ---- twins ------------------------------------------------------------------------------------


class Twin:
    """A list in order of readiness; ``key`` is looked at when somebody is chosen, the first minimum wins."""

    slice = None
    preemptive = False

    def __init__(self, setup):
        self.setup = setup
        self.queue = []
        self.log = []  # (pid, ticks) of all that ran

    def ready(self, pid):
        if pid not in self.queue:
            self.queue.append(pid)

    def choose(self):
        if not self.queue:
            return None
        pid = min(self.queue, key=self.key)
        self.queue.remove(pid)
        return pid

    def forget(self, pid):
        if pid in self.queue:
            self.queue.remove(pid)

    def ran(self, pid, ticks):
        self.log.append((pid, ticks))

    def quantum(self, pid):
        return self.slice

    def preempts(self, pid):
        return self.preemptive and any(self.key(other)[0] < self.key(pid)[0] for other in self.queue)

    def key(self, pid):
        return (0,)

    def attained(self, pid):
        return sum(ticks for other, ticks in self.log if other == pid)


class RoundRobinTwin(Twin):
    slice = QUANTUM


class SjfTwin(Twin):
    def key(self, pid):
        return (self.setup.size_of(pid),)


class SrptTwin(Twin):
    preemptive = True

    def key(self, pid):
        return (self.setup.size_of(pid) - self.attained(pid),)


class PredictedTwin(SrptTwin):
    def key(self, pid):
        guess = predicted(self.setup.size_of, self.setup.sigma, self.setup.seed)
        return (guess(pid) - self.attained(pid),)


class PriorityTwin(Twin):
    """Pids are numbered as they arrive."""

    preemptive = True

    def key(self, pid):
        return (self.setup.class_of(pid), pid)


class AgeingTwin(Twin):
    preemptive = True

    def __init__(self, setup):
        super().__init__(setup)
        self.came = {}

    def ready(self, pid):
        super().ready(pid)
        self.came.setdefault(pid, sum(ticks for _, ticks in self.log))

    def key(self, pid):
        return (self.setup.class_of(pid) * PATIENCE + self.came[pid], pid)


class MlfqTwin(Twin):
    """The level follows from all that the pid has run: QUANTUM, then twice that, then four times."""

    preemptive = True

    def level_and_used(self, pid):
        rest = self.attained(pid)
        for level in range(LEVELS - 1):
            if rest < QUANTUM << level:
                return level, rest
            rest -= QUANTUM << level
        return LEVELS - 1, rest % (QUANTUM << (LEVELS - 1))

    def key(self, pid):
        level, used = self.level_and_used(pid)
        return level, used == 0

    def quantum(self, pid):
        level, used = self.level_and_used(pid)
        return (QUANTUM << level) - used


class PlasTwin(Twin):
    slice = QUANTUM
    preemptive = True

    def key(self, pid):
        program = self.setup.program_of(pid)
        return (sum(ticks for other, ticks in self.log if self.setup.program_of(other) == program),)


class StrideTwin(Twin):
    slice = QUANTUM

    def __init__(self, setup):
        super().__init__(setup)
        self.passes = {}
        self.now = Fraction(0)

    def ready(self, pid):
        super().ready(pid)
        self.passes[pid] = max(self.passes.get(pid, Fraction(0)), self.now)

    def choose(self):
        pid = super().choose()
        self.now = self.passes.get(pid, self.now)
        return pid

    def ran(self, pid, ticks):
        self.passes[pid] += Fraction(ticks, self.setup.tickets_of(pid))

    def key(self, pid):
        return (self.passes[pid],)


class LotteryTwin(Twin):
    slice = QUANTUM

    def __init__(self, setup):
        super().__init__(setup)
        self.dice = Dice(setup.seed)

    def choose(self):
        tickets = [pid for pid in self.queue for _ in range(self.setup.tickets_of(pid))]
        if not tickets:
            return None
        pid = tickets[self.dice.roll(len(tickets))]
        self.queue.remove(pid)
        return pid


TWINS = {
    "fcfs": Twin,
    "sjf": SjfTwin,
    "srpt": SrptTwin,
    "srpt-predicted": PredictedTwin,
    "round-robin": RoundRobinTwin,
    "mlfq": MlfqTwin,
    "priority": PriorityTwin,
    "ageing": AgeingTwin,
    "plas": PlasTwin,
    "stride": StrideTwin,
    "lottery": LotteryTwin,
}


def tick_by_tick(jobs, policy):
    """When each job ends, and the ticks in which nobody ran though somebody had come."""
    left, end = jobs.size.tolist(), {}
    running, turn, now, lost = None, None, 0, 0
    while len(end) < len(jobs):
        come = [pid for pid, moment in enumerate(jobs.arrival) if moment == now]
        for pid in come:
            policy.ready(pid)
        if running is not None and (turn == 0 or (come and policy.preempts(running))):
            policy.ready(running)
            running = None
        if running is None:
            running = policy.choose()
            turn = policy.quantum(running) if running is not None else None
        now += 1
        if running is None:
            lost += any(moment < now and pid not in end for pid, moment in enumerate(jobs.arrival))
            continue
        turn = None if turn is None else turn - 1
        left[running] -= 1
        policy.ran(running, 1)
        if not left[running]:
            policy.forget(running)
            end[running] = now
            running = None
    return [end[pid] for pid in range(len(jobs))], lost


# ---- properties -------------------------------------------------------------------------------

rows = st.tuples(st.integers(0, 12), st.integers(1, 15), st.integers(0, 2))


@st.composite
def job_lists(draw):
    """Up to ten jobs with small numbers, so that ties and busy moments are frequent."""
    gaps, sizes, groups = zip(*draw(st.lists(rows, min_size=1, max_size=10)), strict=True)
    return Jobs(np.cumsum(gaps), np.array(sizes), np.array(groups))


def setup_for(jobs, boost=None):
    return Setup(
        quantum=QUANTUM,
        levels=LEVELS,
        boost=boost,
        patience=PATIENCE,
        seed=11,
        size_of=jobs.size.tolist().__getitem__,
        class_of=jobs.group.tolist().__getitem__,
        program_of=jobs.group.tolist().__getitem__,
        tickets_of=lambda pid: 1 << jobs.group.tolist()[pid],  # powers of two: passes are exact as floats
    )


def test_every_policy_has_a_twin():
    assert set(TWINS) == set(POLICIES)


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, max_examples=60)
@given(jobs=job_lists())
def test_a_policy_agrees_with_its_twin(name, jobs):
    setup = setup_for(jobs)
    expected, _ = tick_by_tick(jobs, TWINS[name](setup))
    assert simulate(jobs, POLICIES[name](setup)).finish.tolist() == expected


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, max_examples=60)
@given(jobs=job_lists(), boost=st.sampled_from([None, BOOST]))
def test_work_is_conserved(name, jobs, boost):
    """Nobody idles while a job is there: the last one ends when it must, whatever the order."""
    end = 0
    for arrival, size in zip(jobs.arrival.tolist(), jobs.size.tolist(), strict=True):
        end = max(end, arrival) + size
    done = simulate(jobs, POLICIES[name](setup_for(jobs, boost)))
    assert done.finish.max() == end
    assert (done.first_wait >= 0).all()
    assert (done.finish - done.first_run >= jobs.size).all()
    _, lost = tick_by_tick(jobs, POLICIES[name](setup_for(jobs, boost)))
    assert lost == 0


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, max_examples=60)
@given(jobs=job_lists())
def test_no_policy_beats_srpt(name, jobs):
    best = simulate(jobs, POLICIES["srpt"](setup_for(jobs))).response.mean()
    assert simulate(jobs, POLICIES[name](setup_for(jobs))).response.mean() >= best


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, max_examples=30)
@given(jobs=job_lists())
def test_switches_cost_what_they_cost(name, jobs):
    """With a price on switches nothing ends sooner than the work and the switches before it take."""
    done = simulate(jobs, POLICIES[name](setup_for(jobs)), switch_ticks=2)
    assert done.switching == 2 * done.switches
    assert done.finish.max() <= jobs.arrival.max() + jobs.size.sum() + done.switching
    assert (done.response >= jobs.size).all()


calls = st.lists(
    st.tuples(st.sampled_from(["ready", "run", "next", "end"]), st.integers(1, 5)), min_size=20, max_size=60
)


@pytest.mark.parametrize("name", ["priority", "ageing"])
@settings(deadline=None, max_examples=100)
@given(sequence=calls)
def test_where_all_are_of_one_class_who_waits_longest_runs(name, sequence):
    """Jobs that sleep as well: those of a simulation never do."""
    policy, queue, running = POLICIES[name](Setup(patience=PATIENCE)), [], None
    for call, number in sequence:
        if call == "ready" and number not in (*queue, running):
            policy.ready(number)
            queue.append(number)
            assert running is None or not policy.preempts(running)
        elif call == "run" and running is not None:
            policy.ran(running, number)
        elif call == "end" and running is not None:
            policy.forget(running)
            running = None
        elif call == "next":  # whoever was running sleeps
            running = policy.choose()
            assert running == (queue.pop(0) if queue else None)
