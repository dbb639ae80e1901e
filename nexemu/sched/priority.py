"""Strict priority: of those that can run, one of the most urgent class runs; within a class, first
come, first served.

While the urgent classes fill the processor, the others do not run at all: starvation. See
:mod:`nexemu.sched.ageing` for the remedy.
"""

from collections.abc import Callable

from nexemu.sched.ranked import Ranked


class Priority(Ranked):
    """``class_of`` gives a pid's class, 0 being the most urgent. With a ``quantum``, those of one class
    take turns; who had to stop for a more urgent pid before its quantum was over keeps its place.

    >>> policy = Priority({1: 1, 2: 0, 3: 1}.__getitem__)
    >>> policy.ready(1), policy.choose()
    (None, 1)
    >>> policy.ready(3), policy.preempts(1)
    (None, False)
    >>> policy.ready(2), policy.preempts(1), policy.ready(1)
    (None, True, None)
    >>> [policy.choose() for _ in range(3)]
    [2, 1, 3]
    """

    __slots__ = ("_class_of", "_place", "_quantum", "_used")

    def __init__(self, class_of: Callable[[int], int], quantum: int | None = None) -> None:
        super().__init__()
        self._class_of = class_of
        self._quantum = quantum
        self._place: dict[int, int] = {}  # the turn that each pid keeps
        self._used: dict[int, int] = {}  # ticks of its quantum

    def rank(self, pid: int) -> float:
        return self._class_of(pid)

    def turn(self, pid: int) -> int:
        if pid not in self._place:
            self._place[pid] = super().turn(pid)
        return self._place[pid]

    def ran(self, pid: int, ticks: int) -> None:
        self._used[pid] = used = self._used.get(pid, 0) + ticks
        if self._quantum is not None and used >= self._quantum:
            self._requeue(pid)

    def _requeue(self, pid: int) -> None:
        """``pid`` goes behind its equals when it is ready again."""
        self._used.pop(pid, None)
        self._place.pop(pid, None)

    def quantum(self, pid: int) -> int | None:
        return None if self._quantum is None else self._quantum - self._used.get(pid, 0)

    def forget(self, pid: int) -> None:
        super().forget(pid)
        self._requeue(pid)
