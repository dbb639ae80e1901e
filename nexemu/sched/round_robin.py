"""Round robin: whoever has waited longest runs next.

xv6: scheduler() in kernel/proc.c, which walks the process table in circles. A queue gives the
same turns without looking at those that cannot run.
"""

from collections import deque


class RoundRobin:
    """A queue of pids. One that is ready twice keeps its first place.

    >>> robin = RoundRobin()
    >>> for pid in (5, 4, 6, 5):
    ...     robin.ready(pid)
    >>> [robin.choose() for _ in range(4)]
    [5, 4, 6, None]
    """

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: deque[int] = deque()

    def ready(self, pid: int) -> None:
        if pid not in self._queue:
            self._queue.append(pid)

    def choose(self) -> int | None:
        return self._queue.popleft() if self._queue else None

    def forget(self, pid: int) -> None:
        if pid in self._queue:
            self._queue.remove(pid)

    def waiting(self) -> int:
        return len(self._queue)
