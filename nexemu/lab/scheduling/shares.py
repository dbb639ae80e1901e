"""Beyond the lecture: processor time in proportion to tickets, by stride and by lottery."""

from typing import Final

import numpy as np

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Cell, Check, Figure, Report, Table
from nexemu.policy import Scheduler
from nexemu.sched import POLICIES, Setup

TICKETS: Final = (100, 200, 300)
MOMENTS: Final = (5, 50, 500, 5_000, 50_000)
POLICY_NAMES: Final = ("stride", "lottery", "round-robin")


def turns(policy: Scheduler, count: int) -> list[int]:
    """Who gets each of the first ``count`` quanta, when everybody always wants to run."""
    chosen = []
    for pid in range(len(TICKETS)):
        policy.ready(pid)
    for _ in range(count):
        winner = policy.choose()
        assert winner is not None, "everybody is ready"
        policy.ran(winner, 1)
        policy.ready(winner)
        chosen.append(winner)
    return chosen


def shares(trial: Trial) -> Report:
    """How far each policy is from the shares that the tickets promise, as time passes."""
    setup = Setup(quantum=1, seed=trial.seed, tickets_of=TICKETS.__getitem__)
    chosen = {
        name: np.array(turns(POLICIES[name](setup), MOMENTS[-1]))
        for name in trial.steps("drawing", POLICY_NAMES)
    }
    errors = {name: [worst_error(who[:moment]) for moment in MOMENTS] for name, who in chosen.items()}
    rows: list[tuple[Cell, ...]] = [
        (f"{moment:,} quanta", *(errors[name][row] for name in errors)) for row, moment in enumerate(MOMENTS)
    ]
    return Report(
        "Stride is never more than a quantum off, whatever the time. The lottery is right on average: its "
        "error in quanta grows with the square root of the time, and its share comes closer all the same.",
        [Table("Largest distance from the promised share, in quanta", ("after", *errors), rows)],
        [
            Check(
                "stride: most quanta off, at any of these moments",
                "1 at most (Waldspurger)",
                max(errors["stride"]),
            ),
            Check(
                "lottery: share of the largest holder at the end (promised 0.5)",
                0.5,
                float(np.mean(chosen["lottery"] == len(TICKETS) - 1)),
            ),
        ],
        [
            Figure(
                "Distance from the promised share",
                "quanta given out",
                "most quanta off",
                MOMENTS,
                errors,
                log_x=True,
                log_y=True,
            )
        ],
    )


def worst_error(who: np.ndarray) -> float:
    """Over all pids: quanta that it got, less those that it was promised."""
    got = np.bincount(who, minlength=len(TICKETS))
    return float(np.abs(got - len(who) * np.array(TICKETS) / sum(TICKETS)).max())


SHARES: Final = Experiment("Shares by stride and by lottery", "beyond: proportional shares", shares)
