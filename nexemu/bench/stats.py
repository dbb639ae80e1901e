"""What many noisy samples say: a middle, and how far the samples spread about it.

The computer slows down and speeds up while it is measured. So the two sides of a ratio are sampled
in turns, each ratio is that of two neighbours, and the middle of all is the median, which a few
disturbed rounds do not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle half of the samples lies between ``low`` and ``high``; ``best`` is the smallest."""

    median: float
    low: float
    high: float
    best: float

    @property
    def relative(self) -> float:
        """Half the width of the middle half, as a part of the median."""
        return (self.high - self.low) / 2 / self.median


def spread(samples: Sequence[float]) -> Spread:
    """Median, quartiles and minimum of one positive sample or more.

    >>> spread([4.0, 1.0, 3.0, 5.0, 2.0])
    Spread(median=3.0, low=2.0, high=4.0, best=1.0)
    """
    if len(samples) == 1:
        (only,) = samples
        return Spread(only, only, only, only)
    low, middle, high = quantiles(samples, n=4, method="inclusive")
    return Spread(middle, low, high, min(samples))


def ratios(measured: Sequence[float], floor: Sequence[float]) -> tuple[float, ...]:
    """Round by round, ``measured`` in units of ``floor``."""
    return tuple(above / below for above, below in zip(measured, floor, strict=True))
