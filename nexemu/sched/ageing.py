"""Priority with ageing: the longer a pid waits, the more urgent it becomes.

A class is worth ``patience`` ticks of waiting. Everybody who waits ages at the same pace, so the
order among them never changes, and one number settles it for good: the moment of coming plus
``patience`` for each class. A patience of 0 is first come, first served; without end it is strict.
"""

from collections.abc import Callable

from nexemu.sched.priority import Priority


class Ageing(Priority):
    """As :class:`Priority`, but a pid of class c goes before one of class 0 that came more than
    c * ``patience`` ticks later.

    >>> policy = Ageing({1: 1, 2: 0, 3: 0}.__getitem__, patience=100)
    >>> for pid, wait in (1, 60), (2, 60), (3, 0):
    ...     policy.ready(pid)
    ...     policy.ran(9, wait)  # somebody else has the processor
    >>> [policy.choose() for _ in range(3)]
    [2, 1, 3]
    """

    __slots__ = ("_clock", "_patience")

    def __init__(self, class_of: Callable[[int], int], patience: int) -> None:
        super().__init__(class_of)
        self._patience = patience
        self._clock = 0

    def rank(self, pid: int) -> float:
        return self._class_of(pid) * self._patience + self._clock

    def ran(self, pid: int, ticks: int) -> None:
        self._clock += ticks
