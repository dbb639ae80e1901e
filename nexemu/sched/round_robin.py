"""Round robin: the queue of first come, first served, and a quantum after which one goes back to its end.

xv6: scheduler() in kernel/proc.c, which walks the process table in circles. A queue gives the
same turns without looking at those that cannot run.
"""

from nexemu.sched.fcfs import Fcfs


class RoundRobin(Fcfs):
    """Turns of ``quantum`` ticks at most; without one, of whatever length whoever asks gives.

    >>> robin = RoundRobin(quantum=10)
    >>> for pid in (5, 4, 6, 5):
    ...     robin.ready(pid)
    >>> robin.choose(), robin.quantum(5)
    (5, 10)
    >>> robin.ready(5)
    >>> [robin.choose() for _ in range(4)]
    [4, 6, 5, None]
    """

    __slots__ = ("_quantum",)

    def __init__(self, quantum: int | None = None) -> None:
        super().__init__()
        self._quantum = quantum

    def quantum(self, pid: int) -> int | None:
        return self._quantum
