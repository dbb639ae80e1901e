"""Shortest remaining processing time: whoever has least left runs, and a shorter arrival takes over.

On one processor no policy has a smaller mean response time. With guessed sizes it is the same
policy on wrong numbers: who has run for longer than was guessed has less than nothing left, and
keeps the processor.
"""

from collections.abc import Callable

from nexemu.sched.ranked import Ranked


class Srpt(Ranked):
    """``size_of`` says how many ticks a pid needs in all; it is asked once, when the pid is new.

    >>> policy = Srpt({1: 10, 2: 4}.__getitem__)
    >>> policy.ready(1), policy.choose()
    (None, 1)
    >>> policy.ran(1, 3)
    >>> policy.ready(2)
    >>> policy.preempts(1)  # 4 is less than the 7 that are left
    True
    """

    __slots__ = ("_left", "_size_of")

    def __init__(self, size_of: Callable[[int], int]) -> None:
        super().__init__()
        self._size_of = size_of
        self._left: dict[int, int] = {}

    def rank(self, pid: int) -> float:
        if pid not in self._left:
            self._left[pid] = self._size_of(pid)
        return self._left[pid]

    def ran(self, pid: int, ticks: int) -> None:
        self._left[pid] -= ticks

    def forget(self, pid: int) -> None:
        super().forget(pid)
        self._left.pop(pid, None)
