"""Who waited for the hart, and for how long: a scheduler that writes down what another one decides.

A turn begins when a process is chosen and ends when the next choice is made. The decisions are those
of the scheduler inside, so a watched machine does the same as an unwatched one.
"""

from nexemu.events import Emit, Turn
from nexemu.policy import Scheduler
from nexemu.proc.clock import Clock


class TimedScheduler(Scheduler):
    """``inner`` decides, by the clock of the machine, and ``emit`` is told of each turn at its end."""

    __slots__ = ("_clock", "_emit", "_inner", "_ready_since", "_turn")

    def __init__(self, inner: Scheduler, clock: Clock, emit: Emit) -> None:
        self._inner = inner
        self._clock = clock
        self._emit = emit
        self._ready_since: dict[int, int] = {}
        self._turn: Turn | None = None

    def ready(self, pid: int) -> None:
        self._ready_since.setdefault(pid, self._clock.cycles)
        self._inner.ready(pid)

    def choose(self) -> int | None:
        now = self._clock.cycles
        if self._turn is not None:
            self._emit(self._turn._replace(end=now))
            self._turn = None
        pid = self._inner.choose()
        if pid is not None:
            self._turn = Turn(pid, self._ready_since.pop(pid, now), now, now)
        return pid

    def forget(self, pid: int) -> None:
        self._ready_since.pop(pid, None)
        self._inner.forget(pid)

    def waiting(self) -> int:
        return self._inner.waiting()

    def ran(self, pid: int, ticks: int) -> None:
        self._inner.ran(pid, ticks)

    def quantum(self, pid: int) -> int | None:
        return self._inner.quantum(pid)

    def preempts(self, pid: int) -> bool:
        return self._inner.preempts(pid)
