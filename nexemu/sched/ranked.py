"""A queue in the order of a rank: what the policies that compare pids are built on.

Owns a heap of (rank, turn, pid). Invariant: a pid is queued exactly when ``_entry`` holds its
heap entry; an entry that ``_entry`` does not hold is stale, and skipped when it comes up.
"""

from heapq import heappop, heappush
from typing import TypeAlias

from nexemu.policy import Scheduler

Entry: TypeAlias = tuple[float, int, int]


class Ranked(Scheduler):
    """The pid of the smallest rank runs next; of equal ranks, the one that became ready first. The rank is
    asked for when a pid becomes ready, and holds until it is chosen."""

    __slots__ = ("_entry", "_heap", "_turns")

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._entry: dict[int, Entry] = {}
        self._turns = 0

    def rank(self, pid: int) -> float:
        """What a policy sorts ``pid`` by, now; the smallest runs."""
        raise NotImplementedError

    def ready(self, pid: int) -> None:
        if pid not in self._entry:
            self._turns += 1
            self._queue((self.rank(pid), self._turns, pid))

    def _queue(self, entry: Entry) -> None:
        self._entry[entry[2]] = entry
        heappush(self._heap, entry)

    def choose(self) -> int | None:
        if self.best() is None:
            return None
        pid = heappop(self._heap)[2]
        del self._entry[pid]
        return pid

    def forget(self, pid: int) -> None:
        self._entry.pop(pid, None)

    def waiting(self) -> int:
        return len(self._entry)

    def preempts(self, pid: int) -> bool:
        best = self.best()
        return best is not None and best < self.rank(pid)

    def best(self) -> float | None:
        """The smallest rank among those that are queued; its entry is at the top of the heap then."""
        heap, entry = self._heap, self._entry
        while heap and entry.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None
