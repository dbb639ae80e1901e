"""Times that were measured: several of each, because one alone says nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds, in the order in which they were taken."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    def row(self, unit: float) -> tuple[float, float, float]:
        """Median, fastest and slowest, in ``unit`` seconds."""
        return self.median / unit, min(self.seconds) / unit, max(self.seconds) / unit


def timed(action: Callable[[], object], times: int, per: int = 1) -> Samples:
    """``action`` done ``times`` times, after once that does not count; each time divided by ``per``."""
    action()
    seconds = []
    for _ in range(times):
        start = perf_counter()
        action()
        seconds.append((perf_counter() - start) / per)
    return Samples(tuple(seconds))
