"""A processor without a kernel: one policy, many jobs, and what became of each.

The simulator goes from event to event: a job arrives, ends, has used its quantum, or is preempted.
It calls a policy exactly as the kernel does. Times are whole ticks, so that every sum is exact.
Where things happen at the same moment, jobs that end come first, then arrivals in their order,
then the job whose quantum is over.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nexemu.policy import Scheduler

Ticks: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Jobs:
    """Job i arrives at ``arrival[i]``, in ascending order, needs ``size[i]`` ticks, at least 1, and
    belongs to ``group[i]``: a class, or a program."""

    arrival: Ticks  # [jobs]
    size: Ticks  # [jobs]
    group: Ticks  # [jobs]

    def __len__(self) -> int:
        return len(self.arrival)

    @classmethod
    def at_once(cls, *sizes: int) -> "Jobs":
        """Jobs that all arrive at 0, in this order."""
        zeros = np.zeros(len(sizes), np.int64)
        return cls(zeros, np.array(sizes, np.int64), zeros)


@dataclass(frozen=True, slots=True)
class Outcome:
    """When each job had the processor first and when it ended; ``busy`` counts the ticks of work,
    ``switching`` those that went into changing from one job to another."""

    jobs: Jobs
    first_run: Ticks  # [jobs]
    finish: Ticks  # [jobs]
    switches: int
    switching: int

    @property
    def response(self) -> Ticks:
        """From arrival to end (which some books call the turnaround)."""
        return self.finish - self.jobs.arrival

    @property
    def first_wait(self) -> Ticks:
        """From arrival until it runs for the first time (which those books call the response)."""
        return self.first_run - self.jobs.arrival

    @property
    def slowdown(self) -> Floats:
        """How many times longer the response is than it would be on an idle processor."""
        return self.response / self.jobs.size

    def slowdown_of_largest(self, fraction: float = 0.01) -> float:
        """The mean slowdown of the largest jobs."""
        count = max(1, round(len(self.jobs) * fraction))
        largest = np.argsort(self.jobs.size, kind="stable")[-count:]
        return float(self.slowdown[largest].mean())


def simulate(jobs: Jobs, policy: Scheduler, switch_ticks: int = 0) -> Outcome:
    """Serve ``jobs`` to the last. To go from one job to another costs ``switch_ticks``."""
    return _Processor(jobs, policy, switch_ticks).run()


class _Processor:
    """The state of one simulation. ``left`` is what each job still needs."""

    def __init__(self, jobs: Jobs, policy: Scheduler, switch_ticks: int) -> None:
        self.jobs = jobs
        self.policy = policy
        self.switch_ticks = switch_ticks
        self.now = 0
        self.switches = 0
        self.arrivals = jobs.arrival.tolist()
        self.left = jobs.size.tolist()
        self.come = 0  # how many jobs have arrived
        self.first_run = [-1] * len(jobs)
        self.finish = [-1] * len(jobs)

    def run(self) -> Outcome:
        """Choose and serve until nobody is left and nobody will come."""
        last = None
        while (pid := self._next()) is not None:
            if pid != last and last is not None:
                self.switches += 1
                self.now += self.switch_ticks
            if self.first_run[pid] < 0:
                self.first_run[pid] = self.now
            last = pid
            self._serve(pid)
        times = (np.array(self.first_run, np.int64), np.array(self.finish, np.int64))
        return Outcome(self.jobs, *times, self.switches, self.switches * self.switch_ticks)

    def _next(self) -> int | None:
        self._admit()
        pid = self.policy.choose()
        if pid is None and self.come < len(self.arrivals):
            self.now = self.arrivals[self.come]
            self._admit()
            pid = self.policy.choose()
        return pid

    def _admit(self) -> None:
        """Those that have come by now are ready."""
        arrivals, now, come = self.arrivals, self.now, self.come
        while come < len(arrivals) and arrivals[come] <= now:
            self.policy.ready(come)
            come += 1
        self.come = come

    def _serve(self, pid: int) -> None:
        """Let ``pid`` run until it ends, its quantum is over, or a newcomer preempts it."""
        policy, arrivals = self.policy, self.arrivals
        left = self.left[pid]
        quantum = policy.quantum(pid)
        turn = left if quantum is None or quantum > left else quantum
        while True:
            step = turn
            if self.come < len(arrivals) and arrivals[self.come] - self.now < step:
                step = max(0, arrivals[self.come] - self.now)
            self.now += step
            turn -= step
            left -= step
            policy.ran(pid, step)
            if not left:
                policy.forget(pid)
                self.finish[pid] = self.now
                return
            self._admit()
            if not turn or policy.preempts(pid):
                self.left[pid] = left
                policy.ready(pid)
                return
