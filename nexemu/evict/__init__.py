"""Page replacement policies, by the name under which they are asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nexemu.evict.ageing import Ageing
from nexemu.evict.arc import Arc
from nexemu.evict.clock import Clock
from nexemu.evict.fifo import Fifo
from nexemu.evict.lfu import Lfu
from nexemu.evict.lru import Lru
from nexemu.evict.opt import Opt
from nexemu.evict.random_page import RandomPage
from nexemu.evict.second_chance import SecondChance
from nexemu.policy import Evictor


@dataclass(frozen=True, slots=True)
class Setup:
    """What a policy may be told when it is made; each takes what it needs. ``capacity``: how many pages
    fit. ``future``: the whole reference string, where it is known."""

    capacity: int
    future: Sequence[int] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """A row of the table: call it to make an evictor. One that is ``online`` can run in a live memory."""

    idea: str
    make: Callable[[Setup], Evictor]
    online: bool = True

    def __call__(self, setup: Setup) -> Evictor:
        return self.make(setup)


POLICIES: Final[Mapping[str, Policy]] = {
    "fifo": Policy("who came first leaves first", lambda _: Fifo()),
    "random": Policy("anybody leaves", lambda s: RandomPage(s.seed)),
    "clock": Policy("who was not used since the hand passed", lambda _: Clock()),
    "second-chance": Policy("the same, clean pages before dirty ones", lambda _: SecondChance()),
    "ageing": Policy("who was used least in the last eight ticks", lambda _: Ageing()),
    "lru": Policy("whose last use is longest ago", lambda _: Lru()),
    "lfu": Policy("who was used least often", lambda _: Lfu()),
    "arc": Policy("recent against frequent, and what left tells which", lambda s: Arc(s.capacity)),
    "opt": Policy("whose next use is furthest away", lambda s: Opt(s.future), online=False),
}
