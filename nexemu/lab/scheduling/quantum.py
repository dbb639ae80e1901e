"""Demo 3: how long a turn should be, when changing from one job to another takes time."""

from typing import Final

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Figure, Report, Table
from nexemu.lab.scheduling.workload import LOAD, jobs_of, long_tail, mean_response, serve
from nexemu.sched.simulate import Outcome

SWITCH: Final = 0.005
QUANTA: Final = (0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 20, 100)
COLUMNS: Final = ("quantum", "mean response", "time spent switching, %", "busy, %")


def quantum(trial: Trial) -> Report:
    """Round robin on a long tail, from tiny turns to huge ones."""
    jobs = jobs_of(long_tail, trial.seed)
    results = {turn: serve(jobs, "round-robin", SWITCH, turn) for turn in trial.steps("serving", QUANTA)}
    rows = [(turn, mean_response(done), *_shares(done)) for turn, done in results.items()]
    fcfs = mean_response(serve(jobs, "fcfs", SWITCH))
    best = min(rows, key=lambda row: row[1])
    return Report(
        "Tiny turns go into switching, and the overhead itself drives the system towards overload; huge "
        "turns are FCFS. A quantum should be long against a switch and short against most jobs.",
        [Table(f"Round robin, long tail, load {LOAD}, {SWITCH} a switch", COLUMNS, rows)],
        [
            Check(
                "smallest quantum: time spent switching, %",
                17,
                rows[0][2],
                "the lecture's quantum is not known",
            ),
            Check("smallest quantum: busy, %", "close to 100", rows[0][3]),
            Check("best quantum", "between the extremes", best[0]),
            Check("largest quantum: mean response, over FCFS's", "1", rows[-1][1] / fcfs),
        ],
        [
            Figure(
                f"Round robin on a long tail, {SWITCH} a switch",
                "quantum, in mean sizes of a job",
                "mean response, in mean sizes of a job",
                QUANTA,
                {"round robin": [row[1] for row in rows], "FCFS": [fcfs] * len(rows)},
                log_x=True,
            )
        ],
    )


def _shares(done: Outcome) -> tuple[float, float]:
    """Of the time until the last arrival, in per cent: spent switching, and busy in all."""
    whole = float(done.jobs.arrival[-1])
    switching = 100 * done.switching / whole
    return switching, switching + 100 * float(done.jobs.size.sum()) / whole


QUANTUM_LENGTH: Final = Experiment("How long a turn should be", "code 02, demo 3", quantum, seed=4)
