"""Jobs that arrive at random: sizes of three kinds, all of mean 1, and a way to have them served.

Times are in mean sizes of a job wherever people see them, and in ticks of a 100,000th of that where
a policy does.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from nexemu.sched import POLICIES, Setup
from nexemu.sched.simulate import Floats, Jobs, Outcome, Ticks, simulate

UNIT: Final = 100_000
"""Ticks in the mean size of a job."""

JOBS: Final = 20_000
LOAD: Final = 0.8
QUANTUM: Final = 0.5
LEVELS: Final = 5
"""Of MLFQ; the first has QUANTUM."""

Sizes = Callable[[np.random.Generator, int], Floats]


def exponential(rng: np.random.Generator, count: int) -> Floats:
    """Without memory: how long a job has run says nothing about how long it will."""
    return rng.exponential(1, count)


def long_tail(rng: np.random.Generator, count: int) -> Floats:
    """Log-normal with sigma 2: the largest 1 % of the jobs are a third of the work."""
    return rng.lognormal(-2, 2, count)


def bimodal(rng: np.random.Generator, count: int) -> Floats:
    """99 % are of size 0.5, 1 % are a hundred times larger."""
    return np.where(rng.random(count) < 0.99, 0.5, 50.5)


LAWS: Final[Mapping[str, Sizes]] = {
    "exponential": exponential,
    "long tail": long_tail,
    "bimodal": bimodal,
}


def ticks(time: float) -> int:
    """At least one."""
    return max(1, round(time * UNIT))


def poisson_arrivals(rng: np.random.Generator, count: int, rate: float) -> Floats:
    """``rate`` arrivals in each unit of time, on average."""
    return np.cumsum(rng.exponential(1 / rate, count))


def jobs_of(sizes: Sizes, seed: int, load: float = LOAD, count: int = JOBS) -> Jobs:
    """Jobs of these sizes, which keep the processor busy for ``load`` of the time on average."""
    rng = np.random.default_rng(seed)
    size = sizes(rng, count)
    return as_jobs(poisson_arrivals(rng, count, load), size, np.zeros(count, np.int64))


def as_jobs(arrival: Floats, size: Floats, group: Ticks) -> Jobs:
    """Times in ticks."""
    whole = np.maximum(1, np.rint(size * UNIT)).astype(np.int64)
    return Jobs(np.rint(arrival * UNIT).astype(np.int64), whole, group)


def serve(jobs: Jobs, policy: str, switch_time: float = 0, quantum: float = QUANTUM, **more: Any) -> Outcome:
    """What becomes of ``jobs`` under a policy of the table; ``more`` is for its :class:`Setup`."""
    group = jobs.group.tolist().__getitem__
    setup = Setup(
        quantum=ticks(quantum),
        levels=LEVELS,
        size_of=jobs.size.tolist().__getitem__,
        class_of=group,
        program_of=group,
        **more,
    )
    return simulate(jobs, POLICIES[policy](setup), round(switch_time * UNIT))


def mean_response(done: Outcome) -> float:
    """In mean sizes of a job."""
    return float(done.response.mean()) / UNIT


def longest_first_wait(done: Outcome) -> float:
    """In mean sizes of a job."""
    return float(done.first_wait.max()) / UNIT
