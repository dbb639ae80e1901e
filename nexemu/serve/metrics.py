"""What to say of a run: throughput, latency, goodput, and where the memory was.

Times come out in seconds or milliseconds; before that all are whole nanoseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nexemu.serve.engine import Outcome, Sample
from nexemu.serve.memory import Usage
from nexemu.serve.request import MILLISECOND, SECOND, Record


@dataclass(frozen=True, slots=True)
class Objective:
    """A request is served well if its first token comes within ``first_token`` ns of its arrival, and the
    others every ``per_token`` ns on average."""

    first_token: int = 2 * SECOND
    per_token: int = 50 * MILLISECOND

    def met_by(self, record: Record) -> bool:
        """Was the request served well?"""
        return (
            record.finished is not None
            and record.time_to_first_token <= self.first_token
            and record.time_per_token <= self.per_token
        )


@dataclass(frozen=True, slots=True)
class Latency:
    """In milliseconds; zeros where there was nothing to measure."""

    mean: float
    median: float
    p99: float

    @classmethod
    def of(cls, nanoseconds: Sequence[float]) -> "Latency":
        """The latency over these times."""
        if not nanoseconds:
            return cls(0.0, 0.0, 0.0)
        times = np.array(nanoseconds, float) / MILLISECOND
        return cls(float(times.mean()), float(np.median(times)), float(np.percentile(times, 99)))


@dataclass(frozen=True, slots=True)
class Summary:
    """``tokens_per_second``: generated ones. ``goodput``: requests served well, a second. ``hit_rate``: part
    of all prompt tokens that was not computed. ``usage``: parts of the memory, on average over time."""

    finished: int
    refused: int
    seconds: float
    tokens_per_second: float
    goodput: float
    served_well: float
    first_token: Latency
    per_token: Latency
    hit_rate: float
    preemptions: int
    recomputed: int
    running: float
    usage: dict[str, float]


def summarize(outcome: Outcome, objective: Objective | None = None) -> Summary:
    """The summary of a run."""
    finished = [record for record in outcome.records if record.finished is not None]
    seconds = outcome.elapsed / SECOND
    well = sum(map((objective or Objective()).met_by, finished))
    prompts = sum(len(record.request.prompt) for record in finished)
    return Summary(
        finished=len(finished),
        refused=sum(bool(record.refused) for record in outcome.records),
        seconds=seconds,
        tokens_per_second=_ratio(sum(len(record.request.output) for record in finished), seconds),
        goodput=_ratio(well, seconds),
        served_well=_ratio(well, len(outcome.records)),
        first_token=Latency.of([record.time_to_first_token for record in finished]),
        per_token=Latency.of([record.time_per_token for record in finished]),
        hit_rate=_ratio(sum(record.cached for record in finished), prompts),
        preemptions=sum(record.preemptions for record in finished),
        recomputed=sum(record.recomputed for record in finished),
        running=_mean_running(outcome.samples),
        usage=mean_usage(outcome.samples),
    )


def mean_usage(samples: Sequence[Sample]) -> dict[str, float]:
    """The parts of the memory by kind, averaged over time; they add up to 1."""
    if not samples:
        return dict.fromkeys(Usage._fields, 0.0)
    usages = np.array([sample.usage for sample in samples], float)
    mean = np.average(usages, axis=0, weights=_weights(samples))
    return dict(zip(Usage._fields, (mean / mean.sum()).tolist(), strict=True))


def _mean_running(samples: Sequence[Sample]) -> float:
    if not samples:
        return 0.0
    return float(np.average([sample.running for sample in samples], weights=_weights(samples)))


def _weights(samples: Sequence[Sample]) -> list[float]:
    """For how long the engine had been as each sample shows it, since the one before."""
    ends = [sample.now for sample in samples]
    return [float(end - start) for start, end in zip([0, *ends], ends, strict=False)]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
