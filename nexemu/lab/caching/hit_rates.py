"""Demos 1 and 2: how often each policy finds a key in the cache, for four ways to use one."""

from typing import Final

import numpy as np

from nexemu.evict import POLICIES
from nexemu.evict.stack_distance import lru_misses
from nexemu.lab.caching.patterns import CACHE, EXPONENT, KEYS, PATTERNS, REFERENCES, hit_rate, zipf
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Cell, Check, Figure, Report, Table

SIZES: Final = (10, 25, 50, 100, 200, 400)
HIT_COST, MISS_COST = 1, 100
ONLINE: Final = [name for name, policy in POLICIES.items() if policy.online]

SAMPLE: Final = "another draw of 30,000 keys"
DRIFTING: Final = "the lecture does not say how its popular keys move; here others become popular halfway"
DETERMINISTIC: Final = [name for name in ONLINE if name != "random"]


def mean_cost(per_cent: float) -> float:
    """Of an access, at this hit rate."""
    return (per_cent * HIT_COST + (100 - per_cent) * MISS_COST) / 100


def popular(trial: Trial) -> Report:
    """Zipf's law at several sizes of the cache."""
    trace: list[int] = zipf(np.random.default_rng(trial.seed)).tolist()
    rates = {
        policy: [hit_rate(trace, policy, size, trial.seed) for size in SIZES]
        for policy in trial.steps("replaying", POLICIES)
    }
    at = {policy: rates[policy][SIZES.index(CACHE)] for policy in rates}
    rows: list[tuple[Cell, ...]] = [(policy, *rates[policy], mean_cost(at[policy])) for policy in rates]
    columns = ("policy", *(str(size) for size in SIZES), f"mean cost at {CACHE}")
    lecture = (("lru", 37.9, 62.5), ("arc", 45.8, 54.7), ("opt", 62.7, 38.0))
    leaders = sorted(DETERMINISTIC, key=lambda policy: -at[policy])
    return Report(
        "Where what is popular stays popular, LFU and ARC do best, because they remember who was used more "
        "than once. All are far from the optimum. The mean cost follows the misses almost alone.",
        [
            Table(
                f"Hits, %, by size of the cache: Zipf {EXPONENT}, {KEYS:,} keys, {REFERENCES:,} accesses",
                columns,
                rows,
            )
        ],
        [
            *(
                Check(f"{policy}, cache of {CACHE}: hits, %", hits, at[policy], SAMPLE)
                for policy, hits, _ in lecture
            ),
            *(
                Check(f"{policy}: mean cost, 1 a hit and 100 a miss", cost, mean_cost(at[policy]), SAMPLE)
                for policy, _, cost in lecture
            ),
            Check("best two that can run live", "lfu, arc", ", ".join(leaders[:2])),
        ],
        [Figure("Hits on popular keys, Zipf 0.8", "cache, in keys", "hits, %", SIZES, rates, log_x=True)],
    )


def failures(trial: Trial) -> Report:
    """The four patterns, each policy, one size."""
    made = {name: make(np.random.default_rng(trial.seed)).tolist() for name, make in PATTERNS.items()}
    rates = {
        policy: [hit_rate(trace, policy, CACHE, trial.seed) for trace in made.values()]
        for policy in trial.steps("replaying", POLICIES)
    }
    by = {policy: dict(zip(PATTERNS, row, strict=True)) for policy, row in rates.items()}
    best_drift = max(by[policy]["drift"] for policy in ("fifo", "lru", "lfu", "clock"))
    return Report(
        "No policy is good at everything. LRU gives up just what a loop needs next, and lets a scan push "
        "out the popular keys; LFU keeps what was popular once; ARC adapts, and still fails on a loop, "
        "where chance alone does better. Look at how a cache is used before choosing its policy.",
        [
            Table(
                f"Hits, %, cache of {CACHE}",
                ("policy", *PATTERNS),
                [(name, *row) for name, row in rates.items()],
            )
        ],
        [
            Check("loop, LRU: hits, %", 0, by["lru"]["loop"]),
            Check(
                "loop, best of the others that remember uses: hits, %",
                0,
                max(by[policy]["loop"] for policy in DETERMINISTIC),
            ),
            Check(
                "scan: LFU's and ARC's hits over LRU's",
                "both above 1",
                min(by["lfu"]["scan"], by["arc"]["scan"]) / by["lru"]["scan"],
            ),
            Check("drift, LFU: hits, %", 30.9, by["lfu"]["drift"], DRIFTING),
            Check(
                "drift, ARC over the best of FIFO, LRU, LFU, CLOCK",
                "about 1 or more",
                by["arc"]["drift"] / best_drift,
            ),
        ],
    )


def curve(trial: Trial) -> Report:
    """LRU at every size of the cache, by stack distances, beside the others at some sizes."""
    trace: list[int] = zipf(np.random.default_rng(trial.seed)).tolist()
    sizes = range(1, 601)
    from_one_pass = lru_misses(trace, sizes[-1])
    wrong = sum(
        round(len(trace) * (1 - hit_rate(trace, "lru", size) / 100)) != from_one_pass[size]
        for size in trial.steps("simulating", sizes[:: len(sizes) // 20])
    )
    rates = {size: 100 * (1 - from_one_pass[size] / len(trace)) for size in sizes}
    rows = [(str(size), rates[size], hit_rate(trace, "opt", size)) for size in (10, 50, 100, 200, 400, 600)]
    return Report(
        "LRU is a stack algorithm: what a small cache holds, a larger one holds too. So the distance of "
        "each reference in the stack says at once in which caches it hits, and one pass gives the whole "
        "curve.",
        [Table("Hits, %", ("cache", "LRU, from one pass", "OPT"), rows)],
        [
            Check("sizes at which the curve and a simulation differ", 0, wrong),
            Check("the curve falls somewhere", "never", "never" if _rises([*rates.values()]) else "yes"),
        ],
        [
            Figure(
                "LRU's curve, Zipf 0.8", "cache, in keys", "hits, %", list(sizes), {"lru": [*rates.values()]}
            )
        ],
    )


def _rises(values: list[float]) -> bool:
    return values == sorted(values)


POPULAR: Final = Experiment("Popular keys", "code 04, demo 1", popular)
FAILURES: Final = Experiment("What each policy fails on", "code 04, demo 2", failures)
CURVE: Final = Experiment("LRU at every size from one pass", "section 4.4", curve)
