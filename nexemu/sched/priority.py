"""Strict priority: of those that can run, one of the most urgent class runs; within a class, first
come, first served.

While the urgent classes fill the processor, the others do not run at all: starvation. See
:mod:`nexemu.sched.ageing` for the remedy.
"""

from collections.abc import Callable

from nexemu.sched.ranked import Entry, Ranked


class Priority(Ranked):
    """``class_of`` gives a pid's class, 0 being the most urgent. Who has to stop for a more urgent pid keeps
    its place; who sleeps loses it.

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

    __slots__ = ("_chosen", "_class_of", "_stopped")

    def __init__(self, class_of: Callable[[int], int]) -> None:
        super().__init__()
        self._class_of = class_of
        self._chosen: Entry = (0, 0, 0)  # the place of whoever was chosen last
        self._stopped: int | None = None  # that pid, from when it has to stop until it is ready again

    def rank(self, pid: int) -> float:
        return self._class_of(pid)

    def ready(self, pid: int) -> None:
        if pid == self._stopped:
            self._stopped = None
            self._queue(self._chosen)
        else:
            super().ready(pid)

    def choose(self) -> int | None:
        if self.best() is not None:
            self._chosen = self._heap[0]
        return super().choose()

    def preempts(self, pid: int) -> bool:
        best = self.best()
        if best is None or best >= self._chosen[0]:
            return False
        self._stopped = pid
        return True
