"""The three demos of section 1, as one experiment."""

import os
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Final

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.processes.gil import PROCESSES, SERIES, THREADS, WORK, OtherPython, four_copies, free_threaded
from nexemu.lab.processes.round_trips import round_trips
from nexemu.lab.processes.samples import Samples
from nexemu.lab.processes.sharing import what_is_seen
from nexemu.lab.processes.spin import gil_is_on
from nexemu.lab.report import Cell, Check, Report, Table

SPREAD: Final = ("median", "fastest", "slowest")
US, MS = 1e-6, 1e-3
OTHER_COMPUTER: Final = "another computer: the lecture's had 12 cores and Python 3.13"


def sharing() -> Report:
    """Demo 1."""
    seen = what_is_seen()
    return Report(
        "",
        checks=[
            Check("a thread set a cell to 1; main sees", 1, seen.after_thread),
            Check("a process set it to 2; that process sees", 2, seen.by_process),
            Check("a process set it to 2; main sees", 1, seen.after_process),
        ],
    )


def trips() -> Report:
    """Demo 3."""
    samples = round_trips()
    rows = [(name, *taken.row(US)) for name, taken in samples.items()]
    call = samples["function call"].median
    return Report(
        "",
        [Table("A round trip, us", ("to", *SPREAD), rows)],
        [
            Check(
                f"{name}, over a function call",
                "hundreds of times",
                samples[name].median / call,
                OTHER_COMPUTER,
                True,
            )
            for name in ("another thread", "another process")
        ],
    )


def copies() -> Report:
    """Demo 2, and the same on interpreters without a GIL that are at hand."""
    samples = four_copies()
    rows: list[tuple[Cell, ...]] = [(f"{work}, {way}", *s.row(MS)) for (work, way), s in samples.items()]
    others = free_threaded()
    rows += chain.from_iterable(_rows_of(other) for other in others)
    title = f"Four copies of the same work, ms: Python {sys.version.split()[0]}, {os.cpu_count()} cores"
    return Report(
        "",
        [Table(f"{title}, {'with' if gil_is_on() else 'without'} a GIL", ("work", *SPREAD), rows)],
        [
            Check(
                "pure Python: threads over one after the other",
                "about 1",
                _ratio(samples, THREADS),
                OTHER_COMPUTER,
                True,
            ),
            Check(
                "pure Python: processes over one after the other",
                "below 1",
                _ratio(samples, PROCESSES),
                OTHER_COMPUTER,
                True,
            ),
            *(
                Check(
                    f"Python {other.version} without a GIL: threads over one after the other",
                    "",
                    other.threads.median / other.series.median,
                    "",
                    True,
                )
                for other in others
            ),
        ],
    )


def _rows_of(other: OtherPython) -> list[tuple[Cell, ...]]:
    name = f"pure Python on {other.version}, {'with' if other.gil else 'without'} a GIL"
    return [(f"{name}, {SERIES}", *other.series.row(MS)), (f"{name}, {THREADS}", *other.threads.row(MS))]


def _ratio(samples: Mapping[tuple[str, str], Samples], way: str) -> float:
    work = next(iter(WORK))
    return samples[work, way].median / samples[work, SERIES].median


PARTS: Final[tuple[Callable[[], Report], ...]] = (sharing, trips, copies)


def process(trial: Trial) -> Report:
    """Measure this computer."""
    reports = [part() for part in trial.steps("measuring", PARTS)]
    return Report(
        "Threads share memory, processes do not. To ask another thread or process costs hundreds of calls, "
        "so engines send batches of messages. With a GIL, threads do not make pure Python faster; processes "
        "do, where there are cores. NumPy lets go of the GIL, but its BLAS has taken the cores already.",
        list(chain.from_iterable(report.tables for report in reports)),
        list(chain.from_iterable(report.checks for report in reports)),
    )


PROCESS: Final = Experiment("Processes, threads and the GIL", "code 01, demos 1 to 3", process)
