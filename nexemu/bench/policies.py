"""Probes of the policies alone: a million references, a million jobs.

The floor of replacement is a public library's cache on the same trace, where cachetools is
installed; it knows LRU only.
"""

import importlib.util
from functools import partial
from importlib import import_module
from typing import Final

import numpy as np

from nexemu.bench.probe import Floor, MakeProbe, Probe, Setting, cpu_seconds
from nexemu.evict import POLICIES as EVICTORS
from nexemu.evict import Setup as EvictorSetup
from nexemu.evict.replay import replay
from nexemu.sched import POLICIES as SCHEDULERS
from nexemu.sched import Setup as SchedulerSetup
from nexemu.sched.simulate import Jobs, simulate

REFERENCES: Final = 1_000_000
JOBS: Final = 1_000_000
QUICK: Final = 10_000
FRAMES: Final = 1_000
PAGES: Final = 10_000
ZIPF: Final = 1.2
LOAD: Final = 0.8
MEAN_SIZE: Final = 1_000  # ticks

AT_MOST: Final = {"lru": 2.0, "clock": 2.0, "arc": 2.0, "opt": 5.0}
"""Seconds that a million references may take."""


def replacement(name: str) -> MakeProbe:
    """The probe of the policy ``name`` on a trace that favours few pages."""

    def make(setting: Setting) -> Probe:
        trace = references(QUICK if setting.quick else REFERENCES)
        floors: tuple[Floor, ...] = ()
        if name == "lru" and importlib.util.find_spec("cachetools") is not None:
            floors = (Floor("cachetools' LRUCache", partial(_cachetools, trace)),)
        title = f"{name.upper()}, {len(trace):,} references"
        return Probe(title, partial(_replay, name, trace), floors, at_most=AT_MOST[name])

    return make


def references(count: int) -> list[int]:
    """Page numbers by Zipf's law, the same each time."""
    pages: list[int] = (np.random.default_rng(1).zipf(ZIPF, count) % PAGES).tolist()
    return pages


def _replay(name: str, trace: list[int]) -> float:
    policy = EVICTORS[name](EvictorSetup(FRAMES, trace))
    return cpu_seconds(lambda: replay(trace, policy, FRAMES))


def _cachetools(trace: list[int]) -> float:
    cache = import_module("cachetools").LRUCache(FRAMES)

    def run() -> None:
        for page in trace:
            if cache.get(page) is None:
                cache[page] = True

    return cpu_seconds(run)


def scheduling(setting: Setting) -> Probe:
    """MLFQ on jobs that arrive at load 0.8."""
    count = QUICK if setting.quick else JOBS
    dice = np.random.default_rng(1)
    arrival = np.cumsum(dice.exponential(MEAN_SIZE / LOAD, count)).astype(np.int64)
    size = np.maximum(1, dice.exponential(MEAN_SIZE, count)).astype(np.int64)
    jobs = Jobs(arrival, size, np.zeros(count, np.int64))
    return Probe(f"MLFQ, {count:,} jobs", partial(_simulate, jobs), at_most=15.0)


def _simulate(jobs: Jobs) -> float:
    policy = SCHEDULERS["mlfq"](SchedulerSetup(quantum=MEAN_SIZE))
    return cpu_seconds(lambda: simulate(jobs, policy))
