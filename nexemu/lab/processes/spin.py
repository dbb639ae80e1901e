"""Pure Python that computes, one after the other and in threads: what the GIL allows.

It imports nothing but the standard library, so that another interpreter can run it by its path: one
without a GIL, where there is one. Then it prints what it found as JSON.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

COPIES = 4
STEPS = 400_000
TIMES = 3


def spin(steps: int = STEPS) -> int:
    """Some arithmetic that needs no memory."""
    total = 0
    for step in range(steps):
        total = (total * 31 + step) & 0xFFFF
    return total


def gil_is_on() -> bool:
    """Whether only one thread of this interpreter computes at a time."""
    ask = getattr(sys, "_is_gil_enabled", None)  # since Python 3.13
    return ask is None or bool(ask())


def in_series() -> float:
    """Seconds for COPIES of the work."""
    start = perf_counter()
    for _ in range(COPIES):
        spin()
    return perf_counter() - start


def in_threads() -> float:
    """The same, a thread for each."""
    with ThreadPoolExecutor(COPIES) as pool:
        list(pool.map(spin, [1] * COPIES))  # the threads have started
        start = perf_counter()
        list(pool.map(spin, [STEPS] * COPIES))
        return perf_counter() - start


if __name__ == "__main__":
    print(
        json.dumps(
            {
                "version": sys.version.split()[0],
                "gil": gil_is_on(),
                "series": [in_series() for _ in range(TIMES)],
                "threads": [in_threads() for _ in range(TIMES)],
            }
        )
    )
