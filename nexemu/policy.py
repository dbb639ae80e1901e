"""The shapes of policies: what the kernel asks of whoever decides.

Mechanism asks, policy decides. A policy sees ids and ticks only, never a process or a PTE,
so that each one also runs alone on a list of jobs.
"""

from typing import Protocol


class Scheduler(Protocol):
    """Chooses the process that runs next. A pid is queued at most once."""

    def ready(self, pid: int) -> None:
        """``pid`` can run: it is new, it woke up, or its time slice ended."""

    def choose(self) -> int | None:
        """Take the next pid off the queue, or None when nothing is ready."""

    def forget(self, pid: int) -> None:
        """``pid`` can no longer run; it may be queued or not."""

    def waiting(self) -> int:
        """How many pids are queued."""
