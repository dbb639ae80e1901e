"""Predicted sizes: the true size times e**N(0, sigma**2), the error that studies of predictors assume.

The prediction of an id is a function of the id and the seed alone, so that it does not matter who
asks, when, or how often.
"""

import math
from collections.abc import Callable

from nexemu.dice import U64, Dice


def predicted(size_of: Callable[[int], int], sigma: float, seed: int = 0) -> Callable[[int], int]:
    """Predictions of ``size_of`` in ticks, at least 1; ``sigma`` 0 is the truth.

    >>> truth = {1: 1_000, 2: 1_000}.__getitem__
    >>> guess = predicted(truth, sigma=1, seed=3)
    >>> guess(1) == guess(1) != guess(2)
    True
    """

    def predict(pid: int) -> int:
        return max(1, round(size_of(pid) * math.exp(sigma * _normal(Dice(seed * 1_000_003 + pid)))))

    return predict


def _normal(dice: Dice) -> float:
    """A draw from N(0, 1), by Box and Muller's transform."""
    radius = math.sqrt(-2 * math.log((dice.bits() + 1) / (U64 + 1)))
    return radius * math.cos(2 * math.pi * dice.bits() / (U64 + 1))
