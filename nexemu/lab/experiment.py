"""An experiment: where in the lecture it is from, and the function that runs it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nexemu.lab.report import Report

T = TypeVar("T")


class Steps(Protocol):
    """Goes through items one by one, and lets the person who waits see how far it is."""

    def __call__(self, title: str, items: Iterable[T]) -> Iterator[T]:
        """The items."""


def in_silence(title: str, items: Iterable[T]) -> Iterator[T]:
    """Steps that nobody watches."""
    return iter(items)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: ``seed`` decides all that is random in it."""

    seed: int
    steps: Steps = in_silence


@dataclass(frozen=True, slots=True)
class Experiment:
    """``place``: the lecture's demos and exercises that it reruns. ``seed``: the one that is taken unless
    another one is asked for."""

    title: str
    place: str
    run: Callable[[Trial], Report]
    seed: int = 1
