"""Demo 5 and exercise 7: what happens when the working set does not fit, and what a fault may cost."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nexemu.evict.stack_distance import lru_misses
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Cell, Check, Figure, Report, Table

ACCESS_NS: Final = 100.0
SSD_NS: Final = 100_000.0
PCIE_NS: Final = 10_000.0

WORKING_SET: Final = 200
PHASE: Final = 20_000
PHASES: Final = 5
STRAY: Final = 0.04
PAGES: Final = 5_000
RANDOM_USES: Final = "uses are random: some pages come back only after stray ones have taken frames"
FRAMES: Final = (25, 50, 100, 150, 180, 190, 200, 210, 220, 250, 300, 400)


def references(seed: int) -> NDArray[np.int64]:
    """A program in phases, each of which uses 200 pages of its own at random, and now and then, in 4 % of
    its accesses, any page at all."""
    rng = np.random.default_rng(seed)
    phases = [phase * WORKING_SET + rng.integers(0, WORKING_SET, PHASE) for phase in range(PHASES)]
    trace = np.concatenate(phases)
    stray = rng.random(len(trace)) < STRAY
    return np.where(stray, rng.integers(0, PAGES, len(trace)), trace)


def effective_access_ns(fault_rate: float, fault_ns: float) -> float:
    """The mean time of an access, hit or fault."""
    return (1 - fault_rate) * ACCESS_NS + fault_rate * fault_ns


def largest_fault_rate(slowdown: float, fault_ns: float) -> float:
    """At which an access takes ``slowdown`` times as long as in memory."""
    return (slowdown - 1) * ACCESS_NS / (fault_ns - ACCESS_NS)


def thrash(trial: Trial) -> Report:
    """LRU at every number of frames, from one pass over the trace."""
    trace: list[int] = references(trial.seed).tolist()
    rates = [misses / len(trace) for misses in lru_misses(trace, max(FRAMES))]
    times = {frames: effective_access_ns(rates[frames], SSD_NS) for frames in FRAMES}
    rows = [(str(n), 100 * rates[n], times[n] / 1000, times[n] / ACCESS_NS) for n in FRAMES]
    enough = 250
    percent = [100 * rate for rate in rates[1:]]
    micros = [effective_access_ns(rate, SSD_NS) / 1000 for rate in rates[1:]]
    return Report(
        "With half the working set every second access faults and the program stands still: thrashing. The "
        "knee is at the working set. Even with enough memory, changes of phase and stray accesses leave "
        "faults, and each costs a thousand accesses.",
        [
            Table(
                "LRU, a working set of 200 pages, 100 ns an access, 100 us a fault",
                ("frames", "faults, %", "mean access, us", "slowdown"),
                rows,
            )
        ],
        [
            Check("enough frames: faults, %", 5, 100 * rates[enough]),
            Check("enough frames: slowdown", "tens of times", times[enough] / ACCESS_NS),
            Check("half the working set: faults, %", "thrashing", 100 * rates[WORKING_SET // 2]),
            Check("steepest fall of the fault rate: around frame", 200, _knee(rates), RANDOM_USES),
        ],
        [
            _by_frames(
                f"Page faults, a working set of {WORKING_SET} pages", "faults, % of accesses", percent
            ),
            _by_frames("Effective access time", "us an access", micros, log_y=True),
        ],
    )


def _by_frames(title: str, what: str, values: list[float], log_y: bool = False) -> Figure:
    return Figure(title, "frames", what, range(1, len(values) + 1), {"LRU": values}, log_y=log_y)


def _knee(rates: list[float], width: int = 20) -> int:
    """The number of frames beyond which ``width`` more hardly help, being the last one before which as many
    helped much: where the slope changes most."""
    bends = {
        n: (rates[n - width] - rates[n]) - (rates[n] - rates[n + width])
        for n in range(width, len(rates) - width)
    }
    return max(bends, key=lambda n: bends[n])


def fault_cost(trial: Trial) -> Report:
    """The exercise: how rare faults must be, if an access may take twice as long as in memory."""
    costs = {"SSD, 100 us": SSD_NS, "host memory over PCIe, 10 us": PCIE_NS}
    bounds = {name: 100 * largest_fault_rate(2, ns) for name, ns in costs.items()}
    rows: list[tuple[Cell, ...]] = [
        (name, *(100 * largest_fault_rate(slow, ns) for slow in (1.1, 2, 10))) for name, ns in costs.items()
    ]
    return Report(
        "The dearer a fault, the rarer it must be. A slow tier pays only for what is surely not needed "
        "soon, or where reading it can be hidden behind other work.",
        [Table("Largest fault rate, %, for a slowdown of", ("a fault costs", "1.1", "2", "10"), rows)],
        [
            Check("SSD: largest fault rate for a slowdown of 2, %", 0.1, bounds["SSD, 100 us"]),
            Check(
                "PCIe: largest fault rate for a slowdown of 2, %",
                1,
                round(bounds["host memory over PCIe, 10 us"], 2),
                "100 / 9,900; the lecture rounds",
            ),
        ],
    )


THRASH: Final = Experiment("Thrashing", "code 03, demo 5", thrash)
FAULT_COST: Final = Experiment("How rare faults must be", "exercise 7", fault_cost)
