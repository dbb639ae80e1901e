"""Exercise 2: what becomes of a long job in MLFQ when short ones never stop coming."""

from typing import Final

import numpy as np

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Report, Table
from nexemu.lab.scheduling.tails import QUEUES
from nexemu.lab.scheduling.workload import jobs_of, long_tail, serve
from nexemu.sched import POLICIES, Setup
from nexemu.sched.simulate import Jobs, simulate

LONG: Final = 20
STREAM: Final = 1_000
PERIODS: Final = (None, 400, 100, 50, 25)


def starving() -> Jobs:
    """A job of 20 units at 0, and one of 1 unit at each moment from 1 to 1,000: they leave no gap."""
    arrival = np.arange(STREAM + 1, dtype=np.int64)
    return Jobs(arrival, np.array([LONG] + [1] * STREAM), np.zeros(STREAM + 1, np.int64))


def long_job_ends(period: int | None) -> int:
    """When the long job ends, if all jobs are lifted to the top every ``period`` units."""
    return int(simulate(starving(), POLICIES["mlfq"](Setup(quantum=1, boost=period))).finish[0])


def boost(trial: Trial) -> Report:
    """With and without; and demo 2's column that shows it."""
    rows = [("never" if period is None else str(period), long_job_ends(period)) for period in PERIODS]
    jobs = jobs_of(long_tail, trial.seed)
    slow = {policy: serve(jobs, policy).slowdown_of_largest() for policy in trial.steps("serving", QUEUES)}
    return Report(
        "Below the top level a job runs only while nothing is on top. Without a boost the long job gets its "
        "first quantum and then nothing until the short ones stop coming; with one it gets a turn in every "
        "period.",
        [
            Table(
                "MLFQ, quantum 1: a long job of 20 among short ones",
                ("boost every", "the long job ends"),
                rows,
            ),
            Table(
                "Demo 2's column: slowdown of the largest 1 %, long tail",
                ("policy", "slowdown"),
                list(slow.items()),
            ),
        ],
        [
            Check(
                "without a boost: the long job ends (the last short one comes at 1,000)",
                "starves",
                rows[0][1],
            ),
            Check("with a boost every 25: it ends", "does not starve", rows[-1][1]),
            Check(
                "slowdown of the largest 1 %, MLFQ over SRPT",
                round(5.41 / 2.11, 2),
                slow["mlfq"] / slow["srpt"],
                "another draw, and other levels",
            ),
        ],
    )


BOOST: Final = Experiment("Why MLFQ needs a boost", "exercise 2", boost, seed=4)
