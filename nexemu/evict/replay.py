"""A memory without a machine: one policy, a reference string, and how often the page was not there.

A policy is called exactly as the kernel calls it when a page is missing and no frame is free.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from nexemu.policy import Evictor, Pages


class Bare(Pages):
    """A memory without accessed bits and pins; ``changed`` holds its dirty pages."""

    __slots__ = ("changed",)

    def __init__(self) -> None:
        self.changed: set[int] = set()

    def dirty(self, page: int) -> bool:
        return page in self.changed


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a trace. ``written`` counts the dirty pages that had to be written when they left."""

    references: int
    misses: int
    written: int

    @property
    def hit_rate(self) -> float:
        return 1 - self.misses / self.references


def replay(trace: Sequence[int], policy: Evictor, frames: int, stores: Container[int] = ()) -> Replay:
    """Refer to the pages of ``trace`` in a memory of ``frames``, empty at first. ``stores`` are the
    positions that change their page. A tick passes every ``frames`` references."""
    resident: set[int] = set()
    memory = Bare()
    misses = written = 0
    for position, page in enumerate(trace):
        if page in resident:
            policy.touch(page)
        else:
            misses += 1
            if len(resident) == frames:
                victim = policy.victim(page, memory)
                assert victim is not None, "nothing is pinned"
                resident.remove(victim)
                written += victim in memory.changed
                memory.changed.discard(victim)
            resident.add(page)
            policy.admit(page)
        if position in stores:
            memory.changed.add(page)
        if position % frames == frames - 1:
            policy.tick(memory)
    return Replay(len(trace), misses, written)
