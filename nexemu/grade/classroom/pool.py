"""Many jobs at once: on the cores of this computer, or on a Dask cluster."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from nexemu.errors import OperatorError
from nexemu.grade.classroom.job import Job, graded_apart

Tell = Callable[[dict[str, Any]], None]


def run_jobs(jobs: Sequence[Job], executor: Executor, tell: Tell) -> None:
    """Do all ``jobs``; ``tell`` hears each result when it is there."""
    futures = [executor.submit(graded_apart, job) for job in jobs]
    try:
        for future in as_completed(futures):
            tell(future.result())
    except BaseException:
        for future in futures:
            future.cancel()
        raise


@contextmanager
def here(jobs: int | None) -> Iterator[Executor]:
    """``jobs`` at a time on this computer; as many as it has cores without a number."""
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as executor:
        yield executor


@contextmanager
def on_cluster(address: str) -> Iterator[Executor]:
    """On the Dask cluster whose scheduler is at ``address``. Raises OperatorError."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise OperatorError(f"--dask needs Dask: {sys.executable} -m pip install 'nexemu[dask]'") from error
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise OperatorError(f"--dask {address}: no scheduler answers there") from error
    with client:
        executor: Executor = client.get_executor(pure=False)
        yield executor
