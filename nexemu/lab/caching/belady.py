"""Demo 3 and exercise 5: a larger cache that misses more often."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from nexemu.evict import POLICIES, Setup
from nexemu.evict.replay import Bare, replay
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Cell, Check, Figure, Report, Table

SEQUENCE: Final = (1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5)
SIZES: Final = (1, 2, 3, 4, 5)
NAMES: Final = ("fifo", "lru", "opt")


def misses(policy: str, size: int, sequence: Sequence[int] = SEQUENCE) -> int:
    """With a cache that is empty at first."""
    return replay(sequence, POLICIES[policy](Setup(size, sequence)), size).misses


def contents(policy: str, size: int, sequence: Sequence[int] = SEQUENCE) -> list[set[int]]:
    """What is in the cache after each reference."""
    evictor, inside, history = POLICIES[policy](Setup(size, sequence)), set[int](), []
    for page in sequence:
        if page in inside:
            evictor.touch(page)
        else:
            if len(inside) == size:
                victim = evictor.victim(page, Bare())
                assert victim is not None, "nothing is pinned"
                inside.remove(victim)
            inside.add(page)
            evictor.admit(page)
        history.append(set(inside))
    return history


def nested(policy: str) -> bool:
    """Is the content of each cache part of the next larger one's, at every moment?"""
    stack = [contents(policy, size) for size in SIZES]
    return all(
        small <= large for less, more in pairwise(stack) for small, large in zip(less, more, strict=True)
    )


def belady(trial: Trial) -> Report:
    """FIFO, LRU and OPT on the sequence of Belady, Nelson and Shedler."""
    counted = {policy: [misses(policy, size) for size in SIZES] for policy in NAMES}
    rows: list[tuple[Cell, ...]] = [(policy, *counts) for policy, counts in counted.items()]
    lecture = {"fifo": (9, 10), "lru": (10, 8), "opt": (7, 6)}
    return Report(
        "FIFO misses more often with four places than with three. LRU and OPT cannot: with each, the small "
        "cache's content is part of the large one's at every moment.",
        [
            Table(
                f"Misses on {' '.join(map(str, SEQUENCE))}",
                ("policy", *(f"{size} places" for size in SIZES)),
                rows,
            )
        ],
        [
            *(
                Check(f"{policy}, {size} places: misses", there, misses(policy, size))
                for policy, values in lecture.items()
                for size, there in zip((3, 4), values, strict=True)
            ),
            Check("exercise 5: OPT, 3 places: misses", 7, misses("opt", 3)),
            Check("exercise 5: LRU's contents are nested", "yes", _yes(nested("lru"))),
            Check("exercise 5: FIFO's contents are nested", "no", _yes(nested("fifo"))),
        ],
        [Figure("Belady's anomaly: more places, more misses", "places", "misses", SIZES, counted)],
    )


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


BELADY: Final = Experiment("Belady's anomaly", "code 04, demo 3; exercise 5", belady)
