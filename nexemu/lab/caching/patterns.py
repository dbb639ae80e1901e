"""Reference strings: popular keys, a loop, a scan among popular keys, popularity that drifts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nexemu.evict import POLICIES, Setup
from nexemu.evict.replay import replay

Keys: TypeAlias = NDArray[np.int64]

KEYS: Final = 1_000
REFERENCES: Final = 30_000
EXPONENT: Final = 0.8
CACHE: Final = 100

SCAN_LENGTH: Final = 300
SCAN_EVERY: Final = 1_500
DRIFT_EVERY: Final = 15_000

COLD: Final = 1_000_000
"""Keys from here on are used once, by a scan."""


def zipf(rng: np.random.Generator) -> Keys:
    """Popularity that stays: the key of rank r is used in proportion to r ** -0.8."""
    weights = np.arange(1, KEYS + 1) ** -EXPONENT
    return rng.choice(KEYS, REFERENCES, p=weights / weights.sum())


def loop(rng: np.random.Generator) -> Keys:
    """Round and round through 20 % more keys than fit."""
    return np.arange(REFERENCES) % (CACHE * 6 // 5)


def scan(rng: np.random.Generator) -> Keys:
    """Popular keys, and now and then 300 keys that are used once and never again."""
    trace = zipf(rng)
    cold = COLD
    for start in range(SCAN_EVERY, REFERENCES, SCAN_EVERY):
        trace[start : start + SCAN_LENGTH] = np.arange(cold, cold + SCAN_LENGTH)
        cold += SCAN_LENGTH
    return trace


def drift(rng: np.random.Generator) -> Keys:
    """Halfway, other keys become the popular ones."""
    trace = zipf(rng)
    for start in range(0, REFERENCES, DRIFT_EVERY):
        renamed = rng.permutation(KEYS)
        trace[start : start + DRIFT_EVERY] = renamed[trace[start : start + DRIFT_EVERY]]
    return trace


PATTERNS: Final[Mapping[str, Callable[[np.random.Generator], Keys]]] = {
    "zipf": zipf,
    "loop": loop,
    "scan": scan,
    "drift": drift,
}


def hit_rate(trace: Sequence[int], policy: str, frames: int = CACHE, seed: int = 0) -> float:
    """In per cent."""
    return 100 * replay(trace, POLICIES[policy](Setup(frames, trace, seed)), frames).hit_rate
