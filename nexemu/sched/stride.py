"""Stride scheduling: processor time in exact proportion to tickets, without chance.

Each pid has a pass, which grows as it runs, the slower the more tickets it has; the smallest pass
runs next. After any stretch of time two pids that never wait differ from their share by no more
than a quantum each.

Passes are floats: where tickets are no powers of two, passes that are equal on paper may differ in
their last bit, and then decide who of two equals goes first.

Waldspurger and Weihl, 1995. The lottery of :mod:`nexemu.sched.lottery` is right only on average.
"""

from collections.abc import Callable

from nexemu.sched.ranked import Ranked


class Stride(Ranked):
    """``tickets_of`` gives a pid's share, at least 1. Who was away comes back at the pass of those that
    stayed: to sleep earns no credit.

    >>> policy = Stride({1: 3, 2: 1}.__getitem__, quantum=10)
    >>> policy.ready(1), policy.ready(2)
    (None, None)
    >>> turns = []
    >>> for _ in range(8):
    ...     turns.append(policy.choose())
    ...     policy.ran(turns[-1], 10)
    ...     policy.ready(turns[-1])
    >>> turns
    [1, 2, 1, 1, 2, 1, 1, 1]
    """

    __slots__ = ("_now", "_pass", "_quantum", "_tickets_of")

    def __init__(self, tickets_of: Callable[[int], int], quantum: int) -> None:
        super().__init__()
        self._tickets_of = tickets_of
        self._quantum = quantum
        self._pass: dict[int, float] = {}
        self._now = 0.0  # the pass of whoever was chosen last

    def rank(self, pid: int) -> float:
        self._pass[pid] = max(self._pass.get(pid, 0.0), self._now)
        return self._pass[pid]

    def choose(self) -> int | None:
        pid = super().choose()
        if pid is not None:
            self._now = self._pass[pid]
        return pid

    def ran(self, pid: int, ticks: int) -> None:
        self._pass[pid] += ticks / self._tickets_of(pid)

    def quantum(self, pid: int) -> int | None:
        return self._quantum

    def preempts(self, pid: int) -> bool:
        return False

    def forget(self, pid: int) -> None:
        super().forget(pid)
        self._pass.pop(pid, None)
