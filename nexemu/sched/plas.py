"""Program-level attained service (PLAS): the program that has been served least runs next.

A program is many pids: the processes of one job, or the calls that an agent makes to a language
model. MLFQ sees each of them new and puts it first; here the service that the program's earlier
pids attained counts for the later ones, so that a program of a hundred calls does not overtake
the short ones a hundred times.

Least attained service: Nuyens and Wierman, 2008. For programs of LLM calls: Autellix, 2025.
"""

from collections.abc import Callable
from heapq import heapreplace

from nexemu.sched.ranked import Ranked


class Plas(Ranked):
    """``program_of`` gives a pid's program; programs of equal service take turns of ``quantum`` ticks.
    A program is never forgotten: another pid of it may come.

    >>> policy = Plas({1: 7, 2: 8, 3: 7}.__getitem__, quantum=10)
    >>> policy.ready(1), policy.choose(), policy.ran(1, 10)
    (None, 1, None)
    >>> policy.ready(3)  # the same program again
    >>> policy.ready(2)
    >>> policy.choose(), policy.choose()
    (2, 3)
    """

    __slots__ = ("_attained", "_program_of", "_quantum")

    def __init__(self, program_of: Callable[[int], int], quantum: int) -> None:
        super().__init__()
        self._program_of = program_of
        self._quantum = quantum
        self._attained: dict[int, int] = {}

    def rank(self, pid: int) -> float:
        return self._attained.get(self._program_of(pid), 0)

    def ran(self, pid: int, ticks: int) -> None:
        program = self._program_of(pid)
        self._attained[program] = self._attained.get(program, 0) + ticks

    def quantum(self, pid: int) -> int | None:
        return self._quantum

    def best(self) -> float | None:
        """As in :class:`Ranked`; a program's queued pids sink when another pid of it has run."""
        while (noted := super().best()) is not None:
            _, turn, pid = self._heap[0]
            now = self.rank(pid)
            if noted == now:
                break
            self._entry[pid] = entry = (now, turn, pid)
            heapreplace(self._heap, entry)
        return noted
