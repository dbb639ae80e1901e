"""Lottery scheduling: each quantum goes to the holder of a ticket that is drawn.

Nothing has to be remembered of anybody, newcomers are treated right at once, and over many draws
everybody gets the share of the tickets that it holds: the error shrinks with the square root
of the number of draws.

Waldspurger and Weihl, 1994.
"""

from collections.abc import Callable

from nexemu.dice import Dice
from nexemu.sched.fcfs import Fcfs


class Lottery(Fcfs):
    """``tickets_of`` gives a pid's tickets, at least 1; ``seed`` decides the draws.

    >>> policy = Lottery({1: 3, 2: 1}.__getitem__, quantum=10)
    >>> wins = {1: 0, 2: 0}
    >>> policy.ready(1), policy.ready(2)
    (None, None)
    >>> for _ in range(10_000):
    ...     winner = policy.choose()
    ...     wins[winner] += 1
    ...     policy.ready(winner)
    >>> 7_400 < wins[1] < 7_600
    True
    """

    __slots__ = ("_dice", "_quantum", "_tickets_of")

    def __init__(self, tickets_of: Callable[[int], int], quantum: int, seed: int = 0) -> None:
        super().__init__()
        self._tickets_of = tickets_of
        self._quantum = quantum
        self._dice = Dice(seed)

    def choose(self) -> int | None:
        if not self._queue:
            return None
        drawn = self._dice.roll(sum(map(self._tickets_of, self._queue)))
        for pid in self._queue:
            drawn -= self._tickets_of(pid)
            if drawn < 0:
                break
        del self._queue[pid]
        return pid

    def quantum(self, pid: int) -> int | None:
        return self._quantum
