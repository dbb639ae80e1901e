"""The lecture's effects of scheduling, on real programs. Time is counted in instructions: each is exact."""

import re
from itertools import pairwise

import pytest
from support import Run, finish

from nexemu.events import Turn
from nexemu.kernel import Kernel, Options
from nexemu.observe.counters import RAN, SWITCHES, WAITED, Counters
from nexemu.observe.recorder import Recorder
from nexemu.sched import POLICIES, Setup
from nexemu.trap.keys import NoKeys

ONLINE = [name for name, policy in POLICIES.items() if policy.online]
QUANTUM = 20_000
TRAP = 1_000


class Watched:
    """A run, what was counted, and the numbers of its processes by the names of their programs."""

    def __init__(self, machine, policy, argv, quantum=QUANTUM):
        self.counters, events = Counters(), Recorder()

        def listen(event):
            events(event)
            self.counters(event)

        screen, log = bytearray(), []
        scheduler = POLICIES[policy](Setup(quantum=quantum))
        options = Options(memory=16 << 20, exact_time=True)
        kernel = Kernel(options, scheduler, NoKeys(), screen.extend, log.append, listen)
        for folder in machine.folders:
            kernel.load_files(folder)
        kernel.boot(argv, machine.init)
        self.run = Run(kernel, screen, log, events)
        finish(self.run, check=False)  # a shell does not wait for what it started in the background
        kernel.audit()
        assert log == []

    def life(self, program):
        (pid,) = [pid for pid, name in self.counters.names.items() if name == program]
        return self.counters.lives[pid]

    def count(self, program, measure):
        (pid,) = [pid for pid, name in self.counters.names.items() if name == program]
        return self.counters.by_pid[pid][measure]


def run(machine, policy, *command, **how):
    return Watched(machine, policy, [b"init", b"--", *(word.encode() for word in command)], **how)


def shell(machine, policy, line, **how):
    return Watched(machine, policy, [b"init", b"-c", line.encode()], **how)


def ends(watched):
    """What convoy says: when each job ended, in units, and the mean."""
    text = watched.run.text
    jobs = {name: float(end) for name, end in re.findall(r"\] (\w) size=\d+ ends_after=([\d.]+)", text)}
    return jobs, float(re.search(r"mean=([\d.]+)", text)[1])


# ---- time -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ONLINE)
@pytest.mark.parametrize("thousands", [1, 250])
def test_a_program_is_charged_for_its_instructions(machine, policy, thousands):
    one, two = (run(machine, policy, "hog", str(n)).count("hog", RAN) for n in (thousands, 2 * thousands))
    traps = (two - one - 1000 * thousands) // TRAP
    assert two - one == 1000 * thousands + traps * TRAP, "and for its traps"
    assert 0 <= traps <= 1000 * thousands / QUANTUM + 1


def test_time_goes_on_also_for_a_program_that_is_alone(machine):
    watched = run(machine, "fcfs", "hog", "3000")
    assert 3_000_000 < watched.run.kernel.clock.cycles < 3_050_000


@pytest.mark.parametrize("policy", ONLINE)
def test_the_same_run_twice_is_the_same(machine, policy):
    first, second = (shell(machine, policy, "hog 500 & interactive 3; convoy 20") for _ in range(2))
    assert first.run.events.events == second.run.events.events


@pytest.mark.parametrize("policy", ONLINE)
def test_the_hart_is_never_idle_while_somebody_waits(machine, policy):
    """Work is conserved: the turns of three hogs follow each other without a gap."""
    watched = run(machine, policy, "convoy", "200")
    turns = watched.run.events.of(Turn)
    gaps = [(a.end, b.start) for a, b in pairwise(turns) if b.start > a.end]
    assert all(b.ready >= a.end for a, b in pairwise(turns) if b.start > a.end), gaps
    assert all(turn.ready <= turn.start <= turn.end for turn in turns)


# ---- the convoy: A, B, C = 10, 1, 1 -----------------------------------------------------------------


def test_first_come_first_served_makes_the_short_jobs_wait(machine):
    """The lecture's value: a mean of 11."""
    jobs, mean = ends(run(machine, "fcfs", "convoy"))
    assert (jobs, mean) == ({"A": 10.0, "B": 11.0, "C": 12.0}, 11.0)


@pytest.mark.parametrize("policy", ["round-robin", "stride", "plas"])
def test_turns_let_the_short_jobs_out(machine, policy):
    """With short turns, B and C end after about 3 units, and A after all 12: a mean of about 6."""
    jobs, mean = ends(run(machine, policy, "convoy", quantum=10_000))
    assert jobs["B"] == pytest.approx(3, rel=0.15)
    assert jobs["C"] == pytest.approx(3, rel=0.15)
    assert jobs["A"] == pytest.approx(12, rel=0.15), "every switch costs a trap"
    assert mean == pytest.approx(6, rel=0.15)


def test_mlfq_lets_the_long_job_sink(machine):
    jobs, mean = ends(run(machine, "mlfq", "convoy"))
    assert max(jobs["B"], jobs["C"]) < 3.2
    assert 5 < mean < 6
    assert jobs["A"] < 12.2, "longer turns at the bottom cost fewer switches"


def test_short_turns_cost_switches(machine):
    last = [
        ends(run(machine, "round-robin", "convoy", quantum=quantum))[0]["A"]
        for quantum in (5_000, 50_000, 500_000)
    ]
    assert last == sorted(last, reverse=True)
    assert last[0] > 12.5
    assert last[2] < 12.1


# ---- a program that waits for its user, beside one that computes ------------------------------------


def waits(machine, policy, quantum=100_000):
    """What interactive waits for the hart on average, beside a hog, in microseconds."""
    watched = shell(machine, policy, "hog 12000 & interactive 8", quantum=quantum)
    return int(re.search(r"mean_wait_us=(\d+)", watched.run.text)[1])


def test_first_come_first_served_lets_the_user_wait_for_the_whole_hog(machine):
    watched = shell(machine, "fcfs", "interactive 2 & hog 12000")
    assert watched.life("hog").ended - watched.life("hog").began == watched.count("hog", RAN)
    assert watched.count("interactive", WAITED) > 11_000_000 - 1_000_000


def test_round_robin_lets_the_user_wait_for_a_turn(machine):
    assert 1_000 < waits(machine, "round-robin") < 11_000, "of at most 10,000 us"


def test_mlfq_lets_the_user_go_first(machine):
    assert waits(machine, "mlfq") <= 300, "a wake-up and a trap or two"


def test_the_tables_of_stats_add_up(machine):
    watched = shell(machine, "round-robin", "hog 300 & hog 300 & hog 300; sleep 3")
    turns = watched.run.events.of(Turn)
    for pid, life in watched.counters.lives.items():
        own = [turn for turn in turns if turn.pid == pid]
        counts = watched.counters.by_pid[pid]
        assert life == (own[0].ready, own[0].start, own[-1].end)
        assert counts[RAN] == sum(turn.end - turn.start for turn in own)
        assert counts[WAITED] == sum(turn.start - turn.ready for turn in own)
        assert counts[SWITCHES] <= len(own) + 1, "init's last turn never ends"
        assert counts[RAN] + counts[WAITED] <= life.ended - life.born
