"""Who is admitted next: the kernel's scheduling policies on requests, and one that knows the cache.

A request stands for a process and a token for a tick. What a request will generate is known to the
simulator and not to a server; policies that need sizes are an upper bound here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from nexemu.policy import Scheduler
from nexemu.sched import POLICIES, Setup
from nexemu.serve.request import Request

QUANTUM: Final = 256  # tokens
PATIENCE: Final = 8192  # tokens that everybody else was served, for one class of urgency


class LongestPrefix(Scheduler):
    """The request that has most of its prompt in the cache goes first, so that what is cached is used
    before it is evicted. Zheng et al., "SGLang" (2024): cache-aware scheduling."""

    __slots__ = ("_cached", "_queue", "_requests")

    def __init__(self, requests: Sequence[Request], cached: Callable[[Request], int]) -> None:
        self._requests = requests
        self._cached = cached
        self._queue: dict[int, None] = {}

    def ready(self, pid: int) -> None:
        self._queue.setdefault(pid)

    def choose(self) -> int | None:
        if not self._queue:
            return None
        chosen = max(self._queue, key=lambda number: self._cached(self._requests[number]))
        del self._queue[chosen]
        return chosen

    def forget(self, pid: int) -> None:
        self._queue.pop(pid, None)

    def waiting(self) -> int:
        return len(self._queue)


SCHEDULERS: Final[Mapping[str, str]] = {
    **{name: policy.idea for name, policy in POLICIES.items()},
    "longest-prefix": "who has most in the cache",
}
"""The schedulers by name, with what each is about."""


def scheduler_for(name: str, requests: Sequence[Request], cached: Callable[[Request], int]) -> Scheduler:
    """The scheduler called ``name`` for these requests; ``cached`` says how much of a prompt is at hand."""
    if name == "longest-prefix":
        return LongestPrefix(requests, cached)
    return POLICIES[name](
        Setup(
            quantum=QUANTUM,
            patience=PATIENCE,
            size_of=lambda number: requests[number].tokens,
            class_of=lambda number: requests[number].urgency,
            program_of=lambda number: requests[number].program,
        )
    )
