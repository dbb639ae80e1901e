"""Sample a probe and its floors in turns, A B A B, and say what came of it."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from nexemu.bench.probe import Probe
from nexemu.bench.stats import Spread, ratios, spread


@dataclass(frozen=True, slots=True)
class Effort:
    """How many rounds: at least ``least``, and more while ``budget`` seconds last, up to ``most``."""

    least: int
    most: int
    budget: float


FULL: Final = Effort(least=5, most=41, budget=6.0)
QUICK: Final = Effort(least=1, most=1, budget=0.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A floor's samples in seconds, and ``ratios`` of the thing's to them, round by round."""

    title: str
    samples: tuple[float, ...]
    ratios: tuple[float, ...]
    at_most: float | None

    @property
    def time(self) -> Spread:
        """What the floor took."""
        return spread(self.samples)

    @property
    def ratio(self) -> Spread:
        """The thing in units of the floor."""
        return spread(self.ratios)

    @property
    def met(self) -> bool | None:
        """Whether the ratio aimed at is kept; None when there is none."""
        return _met(self.ratio, self.at_most)


@dataclass(frozen=True, slots=True)
class Result:
    """A thing's samples in seconds, and how they compare with each floor."""

    name: str
    title: str
    samples: tuple[float, ...]
    at_most: float | None
    comparisons: tuple[Comparison, ...]

    @property
    def time(self) -> Spread:
        """What the thing took."""
        return spread(self.samples)

    @property
    def met(self) -> bool | None:
        """Whether the time aimed at is kept; None when there is none."""
        return _met(self.time, self.at_most)


def _met(found: Spread, at_most: float | None) -> bool | None:
    return None if at_most is None else found.median <= at_most


def measure(name: str, probe: Probe, effort: Effort, tick: Callable[[float], None]) -> Result:
    """Measure ``probe``, which goes by ``name``. ``tick`` is told after each round how much of the work is
    done, from 0 to 1."""
    samplers = [probe.sample, *(floor.sample for floor in probe.floors)]
    if probe.warm_up:
        for sampler in samplers:
            sampler()
    columns: list[list[float]] = [[] for _ in samplers]
    start = perf_counter()
    rounds = 0
    while rounds < effort.least or (rounds < effort.most and perf_counter() - start < effort.budget):
        gc.collect()  # now, rather than in the middle of a sample
        for column, sampler in zip(columns, samplers, strict=True):
            column.append(sampler())
        rounds += 1
        tick(_done(rounds, perf_counter() - start, effort))
    return _result(name, probe, [tuple(column) for column in columns])


def _done(rounds: int, spent: float, effort: Effort) -> float:
    """Both the least rounds and one of the two limits have to be reached."""
    by_time = spent / effort.budget if effort.budget else 1.0
    return min(1.0, rounds / effort.least, max(by_time, rounds / effort.most))


def _result(name: str, probe: Probe, columns: list[tuple[float, ...]]) -> Result:
    samples, *below = columns
    comparisons = tuple(
        Comparison(floor.title, column, ratios(samples, column), floor.at_most)
        for floor, column in zip(probe.floors, below, strict=True)
    )
    return Result(name, probe.title, samples, probe.at_most, comparisons)
