"""Demo 2: the same load, three laws of sizes, five policies."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Figure, Report, Table
from nexemu.lab.scheduling.workload import (
    LAWS,
    LOAD,
    UNIT,
    jobs_of,
    longest_first_wait,
    mean_response,
    serve,
)
from nexemu.sched.simulate import Jobs, Outcome

QUEUES: Final = ("fcfs", "sjf", "srpt", "round-robin", "mlfq")
OTHER_SEEDS: Final = 25

SAMPLE: Final = "another draw of 20,000 jobs; the lecture does not give its own"
FEW_LARGE: Final = "a few huge jobs decide: over {} other seeds ours goes from {:.0f} to {:.0f}"

Results = Mapping[tuple[str, str], Outcome]


def tails(trial: Trial) -> Report:
    """Serve the three kinds of jobs under each policy."""
    jobs = {law: jobs_of(sizes, trial.seed) for law, sizes in LAWS.items()}
    runs = [(law, policy) for law in LAWS for policy in QUEUES]
    results = {run: serve(jobs[run[0]], run[1]) for run in trial.steps("serving", runs)}
    return Report(
        "The variance of sizes makes the queue: at the same load, FCFS is several times slower on a long "
        "tail than on exponential sizes. SRPT hardly notices, and does not wrong the large jobs. MLFQ comes "
        "near it without knowing any size where sizes have a tail, and gains nothing where they have no "
        "memory.",
        [
            _by_law(results, "Mean response, in mean sizes of a job", mean_response),
            _by_law(results, "Slowdown of the largest 1 %", Outcome.slowdown_of_largest),
            _by_law(results, "Longest wait for the first turn", longest_first_wait),
        ],
        [*_responses(results, jobs["long tail"], trial), *_fairness(results)],
        [_figure(results)],
    )


def _by_law(results: Results, title: str, value: Callable[[Outcome], float]) -> Table:
    rows = [(policy, *(value(results[law, policy]) for law in LAWS)) for policy in QUEUES]
    return Table(title, ("policy", *LAWS), rows)


def _responses(results: Results, tailed: Jobs, trial: Trial) -> list[Check]:
    def mean(law: str, policy: str) -> float:
        return mean_response(results[law, policy])

    seeds = range(trial.seed + 1, trial.seed + 1 + OTHER_SEEDS)
    others = [
        mean_response(serve(jobs_of(LAWS["long tail"], seed), "fcfs"))
        for seed in trial.steps("other draws", seeds)
    ]
    luck = FEW_LARGE.format(OTHER_SEEDS, min(others), max(others))
    ratio = mean("long tail", "fcfs") / mean("long tail", "srpt")
    return [
        Check("exponential, FCFS (theory: 1/(1 - 0.8) = 5)", 4.62, mean("exponential", "fcfs"), SAMPLE),
        Check(
            "exponential, round robin (theory of sharing: 5)",
            4.58,
            mean("exponential", "round-robin"),
            SAMPLE,
        ),
        Check("exponential, MLFQ", 4.61, mean("exponential", "mlfq"), SAMPLE),
        Check("long tail, FCFS", 31.3, mean("long tail", "fcfs"), luck),
        Check(
            "the same as Pollaczek and Khinchine have it",
            "",
            pollaczek_khinchine(tailed),
            "not in the lecture",
        ),
        Check("long tail, FCFS over SRPT", "19", ratio, luck),
        Check("long tail, MLFQ", 2.49, mean("long tail", "mlfq"), SAMPLE),
        Check("bimodal, MLFQ", 2.48, mean("bimodal", "mlfq"), SAMPLE),
    ]


def _fairness(results: Results) -> list[Check]:
    small = results["bimodal", "round-robin"]
    is_small = small.jobs.size < UNIT
    slowdowns = [float(small.slowdown[chosen].mean()) for chosen in (is_small, ~is_small)]
    mlfq = "levels and allotments of the lecture are not known; ours: 5, the first of 0.5"
    return [
        *(
            Check(f"long tail, slowdown of the largest 1 %, {policy}", lecture, ours, why)
            for policy, lecture, why in (
                ("fcfs", 2.45, SAMPLE),
                ("srpt", 2.11, SAMPLE),
                ("round-robin", 3.38, SAMPLE),
                ("mlfq", 5.41, mlfq),
            )
            for ours in [results["long tail", policy].slowdown_of_largest()]
        ),
        Check(
            "long tail, longest first wait, srpt",
            88,
            longest_first_wait(results["long tail", "srpt"]),
            SAMPLE,
        ),
        Check("bimodal, round robin: slowdown of the small ones", "as of the large", slowdowns[0]),
        Check("bimodal, round robin: slowdown of the large ones", "as of the small", slowdowns[1]),
    ]


def pollaczek_khinchine(jobs: Jobs) -> float:
    """What FCFS's mean response should be, from the moments of these very sizes: E[S] + r E[S^2] /
    (2 (1 - r) E[S]), where r is the load."""
    size = jobs.size / UNIT
    load = LOAD * float(size.mean())
    return float(size.mean() + LOAD * np.square(size).mean() / (2 * (1 - load)))


def _figure(results: Results) -> Figure:
    shares = np.arange(1, 100)
    lines = {
        policy: (np.percentile(results["long tail", policy].response, shares) / UNIT).tolist()
        for policy in QUEUES
    }
    return Figure(
        "Response of the jobs on a long tail, load 0.8",
        "per cent of the jobs",
        "response at most, in mean sizes of a job",
        shares.tolist(),
        lines,
        log_y=True,
    )


TAILS: Final = Experiment("Three laws of sizes, five policies", "code 02, demo 2", tails, seed=4)
