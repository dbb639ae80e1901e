"""Demo 5: urgent jobs before the others, and what ageing gives back."""

from typing import Final

import numpy as np

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Figure, Report, Table
from nexemu.lab.scheduling.workload import UNIT, as_jobs, poisson_arrivals, serve, ticks
from nexemu.sched.simulate import Jobs, Outcome

INTERACTIVE, BATCH = 0, 1
LOADS: Final = {INTERACTIVE: 0.6, BATCH: 0.3}
MEAN_SIZES: Final = {INTERACTIVE: 1.0, BATCH: 10.0}
ARRIVALS: Final = 20_000
PATIENCES: Final = (400, 200, 100, 50, 25, 10)
COLUMNS: Final = ("policy", "interactive: mean", "P99", "batch: mean", "P99")


def two_classes(seed: int) -> Jobs:
    """Interactive jobs of mean size 1, batch jobs of mean size 10, both exponential, mixed by arrival."""
    rng = np.random.default_rng(seed)
    horizon = ARRIVALS / LOADS[INTERACTIVE]
    parts = []
    for group, load in LOADS.items():
        count = round(horizon * load / MEAN_SIZES[group])
        arrival = poisson_arrivals(rng, count, load / MEAN_SIZES[group])
        parts.append(as_jobs(arrival, rng.exponential(MEAN_SIZES[group], count), np.full(count, group)))
    order = np.argsort(np.concatenate([part.arrival for part in parts]), kind="stable")
    return Jobs(*(np.concatenate([getattr(part, name) for part in parts])[order] for name in Jobs.__slots__))


def priority(trial: Trial) -> Report:
    """FCFS, strict priority, and ageing from slow to fast."""
    jobs = two_classes(trial.seed)
    aged = {
        f"ageing, a class is worth {patience:g}": serve(jobs, "ageing", patience=ticks(patience))
        for patience in trial.steps("serving", PATIENCES)
    }
    results = {"strict priority": serve(jobs, "priority")} | aged | {"FCFS": serve(jobs, "fcfs")}
    rows = [(name, *_of(done, INTERACTIVE), *_of(done, BATCH)) for name, done in results.items()]
    strict, fastest, fcfs = rows[0], rows[-2], rows[-1]
    return Report(
        "Strict priority serves interactive jobs as if there were no others, and batch pays for all of it. "
        "Ageing gives the waiting ones a bound: the faster, the better for batch and the worse for "
        "interactive, until it is FCFS.",
        [Table("Response, interactive load 0.6 and batch load 0.3", COLUMNS, rows)],
        [
            Check(
                "strict: interactive mean (theory without batch: 1/(1 - 0.6) = 2.5)",
                "hardly any wait",
                strict[1],
            ),
            Check("strict: batch mean over FCFS's", "above 1: batch pays", strict[3] / fcfs[3]),
            Check("fast ageing: batch mean over strict's", "below 1", fastest[3] / strict[3]),
            Check("fast ageing: interactive mean over strict's", "above 1", fastest[1] / strict[1]),
        ],
        [_figure(rows[1:-1])],
    )


def _of(done: Outcome, group: int) -> tuple[float, float]:
    """Mean and 99th percentile of a class's response."""
    response = done.response[done.jobs.group == group] / UNIT
    return float(response.mean()), float(np.percentile(response, 99))


def _figure(aged: list[tuple[str, float, float, float, float]]) -> Figure:
    lines = {"interactive": [row[1] for row in aged], "batch": [row[3] for row in aged]}
    return Figure(
        "Ageing, from FCFS (left) to strict priority (right)",
        "wait that is worth a class, in mean sizes of an interactive job",
        "mean response, in the same unit",
        PATIENCES,
        lines,
        log_x=True,
        log_y=True,
    )


PRIORITY: Final = Experiment("Priority, starvation and ageing", "code 02, demo 5", priority)
