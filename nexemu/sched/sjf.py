"""Shortest job first: of those that wait, the one that needs least, and it runs to its end.

Better than first come, first served, but a short job that arrives just after a long one has
started still waits for all of it; see :mod:`nexemu.sched.srpt`.
"""

from collections.abc import Callable

from nexemu.sched.ranked import Ranked


class Sjf(Ranked):
    """``size_of`` says how many ticks a pid needs in all: known in a simulation, a guess in a kernel.

    >>> sizes = {1: 10, 2: 1, 3: 4}
    >>> queue = Sjf(sizes.__getitem__)
    >>> for pid in sizes:
    ...     queue.ready(pid)
    >>> [queue.choose() for _ in range(3)]
    [2, 3, 1]
    """

    __slots__ = ("_size_of",)

    def __init__(self, size_of: Callable[[int], int]) -> None:
        super().__init__()
        self._size_of = size_of

    def rank(self, pid: int) -> float:
        return self._size_of(pid)

    def preempts(self, pid: int) -> bool:
        return False
