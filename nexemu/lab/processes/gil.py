"""Demo 2: four copies of the same work, one after the other, in threads and in processes."""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from nexemu.lab.processes import spin as spin_module
from nexemu.lab.processes.samples import Samples, timed
from nexemu.lab.processes.sharing import SPAWNED, deaf
from nexemu.lab.processes.spin import COPIES, TIMES, spin

SIDE: Final = 192
PRODUCTS: Final = 4
FREE_THREADED: Final = ("python3.13t", "python3.14t", "python3.15t")
PATIENCE_S: Final = 60

SERIES, THREADS, PROCESSES = "one after the other", "threads", "processes"


def multiply() -> float:
    """Large matrix products, in which NumPy lets go of the GIL, and BLAS may use several cores."""
    matrix = np.full((SIDE, SIDE), 0.5)
    total = 0.0
    for _ in range(PRODUCTS):
        total += float((matrix @ matrix)[0, 0])
    return total


WORK: Final[Mapping[str, Callable[[], float]]] = {"pure Python": spin, "NumPy": multiply}


def _all(pool: Executor, work: Callable[[], float]) -> Callable[[], None]:
    def copies() -> None:
        with deaf():
            futures = [pool.submit(work) for _ in range(COPIES)]
        for future in futures:
            future.result()

    return copies


def four_copies() -> Mapping[tuple[str, str], Samples]:
    """By work and by way. Pools are warm: what it takes to start them is not in it."""
    samples = {}
    with ThreadPoolExecutor(COPIES) as threads, ProcessPoolExecutor(COPIES, SPAWNED) as processes:
        for name, work in WORK.items():

            def in_series(work: Callable[[], float] = work) -> None:
                for _ in range(COPIES):
                    work()

            samples[name, SERIES] = timed(in_series, TIMES)
            samples[name, THREADS] = timed(_all(threads, work), TIMES)
            samples[name, PROCESSES] = timed(_all(processes, work), TIMES)
    return samples


@dataclass(frozen=True, slots=True)
class OtherPython:
    """What another interpreter made of pure Python."""

    version: str
    gil: bool
    series: Samples
    threads: Samples


def free_threaded() -> list[OtherPython]:
    """What each interpreter without a GIL that is on the PATH makes of it."""
    paths = [path for name in FREE_THREADED if (path := shutil.which(name))]
    return [found for path in paths if (found := _ask(path)) is not None]


def _ask(interpreter: str) -> OtherPython | None:
    """None where it cannot be run, as a version manager's stand-in for one that is not installed."""
    script = Path(spin_module.__file__)
    try:
        run = subprocess.run(
            [interpreter, str(script)], capture_output=True, check=True, timeout=PATIENCE_S, text=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    said = json.loads(run.stdout)
    return OtherPython(
        said["version"], said["gil"], Samples(tuple(said["series"])), Samples(tuple(said["threads"]))
    )
