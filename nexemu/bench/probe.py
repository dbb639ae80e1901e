"""What a probe is: a thing to measure, and what it is compared with.

A sample is a function that does the thing once, or many times, and returns the seconds that one
took; what has to be prepared for it is its own business and not counted.

What runs in this process is measured in seconds of its own processor time: whatever else the
computer does in between does not count. A process is measured by the clock on the wall, as the
person who waits for it does.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import TypeAlias

Sample: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Floor:
    """What the measured thing could cost at best, or costs elsewhere. ``at_most``: the ratio aimed at."""

    title: str
    sample: Sample
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """``at_most``: the seconds aimed at. ``warm_up``: whether the first round only warms the host's memory
    and caches. ``remarks`` are for the reader of the table."""

    title: str
    sample: Sample
    floors: tuple[Floor, ...] = ()
    at_most: float | None = None
    warm_up: bool = True
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """In what circumstances a probe is made. ``quick``: as little as shows that it works. ``stack`` is
    unwound when the probe is done. ``peers``: where checkouts of public implementations are."""

    quick: bool
    stack: ExitStack
    peers: Path | None = None


MakeProbe: TypeAlias = Callable[[Setting], Probe]


class NotHere(Exception):
    """A probe that cannot be made on this computer; the text says what is missing."""


def cpu_seconds(action: Callable[[], object]) -> float:
    """How long the processor takes over ``action``, which must not leave this thread."""
    start = thread_time()
    action()
    return thread_time() - start
