"""First come, first served: a queue, and whoever is at its head runs until it waits or ends.

One long job keeps all the short ones behind it waiting: the convoy effect.
"""

from collections import OrderedDict

from nexemu.policy import Scheduler


class Fcfs(Scheduler):
    """A queue of pids. One that is ready twice keeps its first place.

    >>> queue = Fcfs()
    >>> for pid in (5, 4, 6, 5):
    ...     queue.ready(pid)
    >>> queue.forget(4)
    >>> [queue.choose() for _ in range(3)]
    [5, 6, None]
    """

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: OrderedDict[int, None] = OrderedDict()  # ordered, and forgets from its middle at once

    def ready(self, pid: int) -> None:
        self._queue.setdefault(pid)

    def choose(self) -> int | None:
        return self._queue.popitem(last=False)[0] if self._queue else None

    def forget(self, pid: int) -> None:
        self._queue.pop(pid, None)

    def waiting(self) -> int:
        return len(self._queue)
