"""The multi-level feedback queue: who has run for long is expected to run for longer.

Nobody says how long a job is, so each starts at the top, and sinks by a level whenever it has used
up the level's allotment, which doubles from level to level. Short jobs end near the top; long
ones sink out of their way. That helps where sizes have a long tail, and not at all where they are
exponential: there the past says nothing about the future.

Every ``boost`` ticks all jobs return to the top, so that those at the bottom do not starve while
short ones keep coming, and one that has changed its ways is seen anew.
"""

from collections import OrderedDict

from nexemu.policy import Scheduler


class Mlfq(Scheduler):
    """``quantum`` is the top level's allotment in ticks, used in one piece or in several: whoever sleeps
    just before its end does not win it back. Who stopped or slept within its allotment comes back at
    the head of its level.

    >>> policy = Mlfq(quantum=10, levels=3)
    >>> policy.ready(1), policy.choose(), policy.quantum(1)
    (None, 1, 10)
    >>> policy.ran(1, 10)
    >>> policy.ready(1)
    >>> policy.ready(2)
    >>> policy.choose(), policy.choose(), policy.quantum(1)
    (2, 1, 20)
    """

    __slots__ = ("_boost", "_clock", "_level", "_quantum", "_queues", "_turn_of", "_used")

    def __init__(self, quantum: int, levels: int = 8, boost: int | None = None) -> None:
        self._quantum = quantum
        self._boost = boost
        self._clock = 0  # ticks since the last boost
        self._queues: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(levels)]
        self._level: dict[int, int] = {}
        self._turn_of = 0  # the level that the present turn is as long as, even if a boost lifts its owner
        self._used: dict[int, int] = {}  # ticks of the allotment at its level

    def ready(self, pid: int) -> None:
        queue = self._queues[self._level.setdefault(pid, 0)]
        queue.setdefault(pid)
        if self._used.setdefault(pid, 0):
            queue.move_to_end(pid, last=False)

    def choose(self) -> int | None:
        for level, queue in enumerate(self._queues):
            if queue:
                self._turn_of = level
                return queue.popitem(last=False)[0]
        return None

    def quantum(self, pid: int) -> int | None:
        return (self._quantum << self._level[pid]) - self._used[pid]

    def preempts(self, pid: int) -> bool:
        return any(self._queues[: self._turn_of])

    def ran(self, pid: int, ticks: int) -> None:
        self._clock += ticks
        self._used[pid] += ticks
        if self._used[pid] >= self._quantum << self._level[pid]:
            self._used[pid] = 0
            self._level[pid] = min(self._level[pid] + 1, len(self._queues) - 1)
        if self._boost is not None and self._clock >= self._boost:
            self._lift_everybody()

    def _lift_everybody(self) -> None:
        """All return to the top with a full allotment, those of higher levels first."""
        self._clock = 0
        for queue in self._queues[1:]:
            self._queues[0].update(queue)
            queue.clear()
        self._level = dict.fromkeys(self._level, 0)
        self._used = dict.fromkeys(self._used, 0)

    def forget(self, pid: int) -> None:
        self._queues[self._level.pop(pid, 0)].pop(pid, None)
        self._used.pop(pid, None)

    def waiting(self) -> int:
        return sum(map(len, self._queues))
