"""Demo 4: SRPT on predicted sizes, as a predictor of output lengths would give them."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Figure, Report, Table
from nexemu.lab.scheduling.workload import LOAD, jobs_of, long_tail, mean_response, serve

SIGMAS: Final = (0.0, 0.5, 1.0, 2.0, 3.0)
FEW_LARGE: Final = "the same law with another seed: a few huge jobs decide"
OVERRUN: Final = (
    "here a job that outlives its prediction keeps the processor to its end, and how long that is is the "
    "luck of the draw; what the lecture's does is not said"
)


def prediction(trial: Trial) -> Report:
    """SRPT at growing errors, beside the policies that need no sizes."""
    jobs = jobs_of(long_tail, trial.seed)
    guessed = {
        f"SRPT, sigma {sigma:g}": serve(jobs, "srpt-predicted", sigma=sigma, seed=trial.seed)
        for sigma in trial.steps("serving", SIGMAS)
    }
    results = guessed | {"MLFQ": serve(jobs, "mlfq"), "FCFS": serve(jobs, "fcfs")}
    means = {name: mean_response(done) for name, done in results.items()}
    slow = {name: float(done.slowdown.mean()) for name, done in results.items()}
    rows = [(name, means[name], slow[name]) for name in results]
    lines = {"SRPT on predictions": [means[name] for name in guessed], "MLFQ": [means["MLFQ"]] * len(SIGMAS)}
    return Report(
        "The worse the prediction, the worse SRPT, and still far better than FCFS. MLFQ, which predicts "
        "nothing, has the better slowdown: a short job that was taken for a long one waits for very long.",
        [Table(f"Long tail, load {LOAD}", ("policy", "mean response", "mean slowdown"), rows)],
        _checks(means, slow),
        [
            Figure(
                "The price of a wrong prediction: long tail, load 0.8",
                "sigma of the error",
                "mean response, in mean sizes of a job",
                SIGMAS,
                lines,
            )
        ],
    )


def _checks(means: Mapping[str, float], slow: Mapping[str, float]) -> list[Check]:
    worst = f"SRPT, sigma {SIGMAS[-1]:g}"
    return [
        Check(
            "sigma at which SRPT's mean response falls behind MLFQ's",
            "between 1 and 2",
            _crossing(means),
            OVERRUN,
        ),
        Check(
            "worst sigma: FCFS's mean response over SRPT's", "much more than 1", means["FCFS"] / means[worst]
        ),
        Check("mean slowdown, MLFQ", "far below SRPT with any error", slow["MLFQ"]),
        Check("mean slowdown, SRPT with sigma 0.5", "far above MLFQ", slow["SRPT, sigma 0.5"]),
        Check("FCFS, mean response", "3 times demo 2's", means["FCFS"], FEW_LARGE),
    ]


def _crossing(means: Mapping[str, float]) -> str:
    """Between which of SIGMAS."""
    for before, after in pairwise(SIGMAS):
        if means[f"SRPT, sigma {after:g}"] > means["MLFQ"]:
            return f"between {before:g} and {after:g}"
    return f"above {SIGMAS[-1]:g}"


PREDICTION: Final = Experiment("Sizes that were predicted", "code 02, demo 4", prediction, seed=32)
