"""Section 2.6's other road: programs of many calls, and a queue that counts what the whole program got."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Cell, Check, Figure, Report, Table
from nexemu.lab.scheduling.workload import as_jobs, poisson_arrivals, serve
from nexemu.sched.simulate import Floats, Jobs, Outcome

PROGRAMS: Final = 3_000
LOAD: Final = 0.8
THINKING: Final = 1.0
POLICY_NAMES: Final = ("fcfs", "round-robin", "mlfq", "plas")


def programs(seed: int) -> Jobs:
    """Calls of mean size 1. A program makes from one call to hundreds, each a unit of time after the last,
    as an agent that uses tools does; a job's group is its program."""
    rng = np.random.default_rng(seed)
    calls = np.ceil(rng.lognormal(0.5, 1.2, PROGRAMS)).astype(np.int64)
    begins = poisson_arrivals(rng, PROGRAMS, LOAD / calls.mean())
    program = np.repeat(np.arange(PROGRAMS), calls)
    number = np.arange(len(program)) - np.repeat(np.cumsum(calls) - calls, calls)
    arrival = begins[program] + number * THINKING
    order = np.argsort(arrival, kind="stable")
    return as_jobs(arrival[order], rng.exponential(1, len(program)), program[order])


def program_slowdowns(done: Outcome) -> Floats:
    """From a program's first arrival to its last end, over what that takes on an idle processor at best."""
    jobs = done.jobs
    first = np.full(PROGRAMS, np.iinfo(np.int64).max)
    np.minimum.at(first, jobs.group, jobs.arrival)
    last = np.zeros(PROGRAMS, np.int64)
    np.maximum.at(last, jobs.group, done.finish)
    work = np.bincount(jobs.group, jobs.size)
    coming = np.zeros(PROGRAMS, np.int64)
    np.maximum.at(coming, jobs.group, jobs.arrival)
    return np.asarray((last - first) / np.maximum(work, coming - first), np.float64)


def compare(trial: Trial) -> Report:
    """The same calls under policies that see calls, and one that sees programs."""
    jobs = programs(trial.seed)
    slow = {policy: program_slowdowns(serve(jobs, policy)) for policy in trial.steps("serving", POLICY_NAMES)}
    rows: list[tuple[Cell, ...]] = [
        (name, float(s.mean()), *map(float, np.percentile(s, (50, 90, 99)))) for name, s in slow.items()
    ]
    return Report(
        "MLFQ takes each call of a long program for a new short job, and puts it first every time. PLAS "
        "counts what the program has had: programs of few calls pass, and the mean slowdown falls.",
        [Table("Slowdown of programs, load 0.8", ("policy", "mean", "median", "P90", "P99"), rows)],
        [Check("mean slowdown of programs, MLFQ over PLAS", "above 1 (Autellix)", _ratio(slow))],
        [_figure(slow)],
    )


def _ratio(slow: Mapping[str, Floats]) -> float:
    return float(slow["mlfq"].mean() / slow["plas"].mean())


def _figure(slow: Mapping[str, Floats]) -> Figure:
    shares = np.arange(1, 100)
    lines = {policy: np.percentile(values, shares).tolist() for policy, values in slow.items()}
    return Figure(
        "Slowdown of programs of many calls",
        "per cent of the programs",
        "slowdown at most",
        shares.tolist(),
        lines,
        log_y=True,
    )


PROGRAMS_OF_CALLS: Final = Experiment("Programs of many calls", "section 2.6", compare)
