"""Scheduling policies, by the name under which they are asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from nexemu.param import QUANTUM
from nexemu.policy import Scheduler
from nexemu.sched.ageing import Ageing
from nexemu.sched.fcfs import Fcfs
from nexemu.sched.lottery import Lottery
from nexemu.sched.mlfq import Mlfq
from nexemu.sched.plas import Plas
from nexemu.sched.prediction import predicted
from nexemu.sched.priority import Priority
from nexemu.sched.round_robin import RoundRobin
from nexemu.sched.sjf import Sjf
from nexemu.sched.srpt import Srpt
from nexemu.sched.stride import Stride


def _equal(pid: int) -> int:
    return 1


def _itself(pid: int) -> int:
    return pid


@dataclass(frozen=True, slots=True)
class Setup:
    """What a policy may be told when it is made; each takes what it needs. Times are in ticks.

    ``quantum``: a turn, MLFQ's shortest allotment. ``boost``: MLFQ's period, None for never.
    ``patience``: what a class is worth in waiting. ``sigma``: how wrong predictions are.
    """

    quantum: int = QUANTUM
    levels: int = 8
    boost: int | None = None
    patience: int = 10 * QUANTUM
    sigma: float = 1.0
    seed: int = 0
    size_of: Callable[[int], int] = _equal
    class_of: Callable[[int], int] = _equal
    program_of: Callable[[int], int] = _itself
    tickets_of: Callable[[int], int] = _equal


@dataclass(frozen=True, slots=True)
class Policy:
    """A row of the table: call it to make a scheduler. One that is ``online`` can run in a kernel, which
    does not know how much longer a process will take."""

    idea: str
    make: Callable[[Setup], Scheduler]
    online: bool = True

    def __call__(self, setup: Setup | None = None) -> Scheduler:
        return self.make(setup or Setup())


POLICIES: Final[Mapping[str, Policy]] = {
    "fcfs": Policy("first come, first served", lambda _: Fcfs()),
    "sjf": Policy("the shortest job, to its end", lambda s: Sjf(s.size_of), online=False),
    "srpt": Policy("the shortest remaining time", lambda s: Srpt(s.size_of), online=False),
    "srpt-predicted": Policy(
        "the shortest remaining time, as predicted",
        lambda s: Srpt(predicted(s.size_of, s.sigma, s.seed)),
        online=False,
    ),
    "round-robin": Policy("turns of one quantum", lambda s: RoundRobin(s.quantum)),
    "mlfq": Policy("who has run for long sinks", lambda s: Mlfq(s.quantum, s.levels, s.boost)),
    "priority": Policy("the most urgent class", lambda s: Priority(s.class_of)),
    "ageing": Policy("the most urgent class, but waiting counts", lambda s: Ageing(s.class_of, s.patience)),
    "plas": Policy("the least served program", lambda s: Plas(s.program_of, s.quantum)),
    "stride": Policy("shares in proportion to tickets", lambda s: Stride(s.tickets_of, s.quantum)),
    "lottery": Policy("shares by drawing tickets", lambda s: Lottery(s.tickets_of, s.quantum, s.seed)),
}
