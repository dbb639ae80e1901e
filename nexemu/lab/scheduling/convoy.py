"""Demo 1 and exercise 1: a few jobs at once, whose times can be worked out on paper."""

from collections.abc import Sequence
from typing import Final

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Report, Table
from nexemu.sched import POLICIES, Setup
from nexemu.sched.simulate import Jobs, simulate

CONVOY: Final = (10, 1, 1)
EXERCISE: Final = (8, 4, 2, 1)
QUEUES: Final = ("fcfs", "sjf", "round-robin")


def ends(sizes: Sequence[int], policy: str) -> list[int]:
    """When each job ends, all having come at 0 in this order; a quantum is 1."""
    setup = Setup(quantum=1, size_of=sizes.__getitem__)
    times: list[int] = simulate(Jobs.at_once(*sizes), POLICIES[policy](setup)).finish.tolist()
    return times


def mean(sizes: Sequence[int], policy: str) -> float:
    """The mean response time."""
    return sum(ends(sizes, policy)) / len(sizes)


def _table(sizes: Sequence[int]) -> Table:
    columns = [f"{chr(ord('A') + number)} of {size} ends" for number, size in enumerate(sizes)]
    rows = [(policy, *ends(sizes, policy), mean(sizes, policy)) for policy in QUEUES]
    title = f"Jobs of {', '.join(map(str, sizes))} units at once"
    return Table(title, ("policy", *columns, "mean response"), rows)


def convoy(trial: Trial) -> Report:
    """Three jobs, one of which is a slow lorry with two cars behind it."""
    return Report(
        "One long job at the head of the queue makes everybody wait for it: the convoy effect. The short "
        "ones first, and the mean falls to less than half, while A waits for two units more.",
        [_table(CONVOY)],
        [
            Check("FCFS, A B C = 10 1 1, mean response", 11, mean(CONVOY, "fcfs")),
            Check("SJF, the same", 5, mean(CONVOY, "sjf")),
        ],
    )


def by_hand(trial: Trial) -> Report:
    """The exercise: four jobs under three policies."""
    return Report(
        "With sizes that halve, SJF needs about half of FCFS's time. Round robin is in between: it is fair "
        "to all, and does not need to know the sizes.",
        [_table(EXERCISE)],
        [
            Check("FCFS, sizes 8 4 2 1, mean response", 12.25, mean(EXERCISE, "fcfs")),
            Check("SJF, the same", 6.5, mean(EXERCISE, "sjf")),
            Check("round robin, quantum 1, the same", 9.25, mean(EXERCISE, "round-robin")),
        ],
    )


CONVOY_EFFECT: Final = Experiment("The convoy effect", "code 02, demo 1", convoy)
BY_HAND: Final = Experiment("Four jobs by hand", "exercise 1", by_hand)
