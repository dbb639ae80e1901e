"""One run of slots for each request: serving before paging, as Orca did it.

What comes is not known, so a run is reserved when the request is admitted: for the longest that any
request may become, for the next power of two, or, which no server can, for what will really come.

Kwon et al., "PagedAttention" (2023), section 6: Orca (Max), Orca (Pow2), Orca (Oracle)
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from nexemu.errors import OutOfMemory, panic
from nexemu.kv.contiguous import ContiguousAllocator, Run
from nexemu.serve.memory import Admission, Usage
from nexemu.serve.request import Request

Reserve: TypeAlias = Callable[[Request, int], int]


def _power_of_two(request: Request, longest: int) -> int:
    """The next power of two; the request's own length decides it, as if it were guessed right."""
    return min(longest, 1 << (request.tokens - 2).bit_length())


RESERVES: Final[Mapping[str, Reserve]] = {
    "max": lambda request, longest: longest,
    "limit": lambda request, longest: min(longest, len(request.prompt) + request.limit),
    "pow2": _power_of_two,
    "oracle": lambda request, longest: request.tokens - 1,
}
"""How many slots to reserve for a request, where none may be longer than ``longest`` tokens."""


class ContiguousMemory:
    """A :class:`~nexemu.serve.memory.Memory` of ``total`` slots. What was admitted never runs out, so
    nothing is preempted."""

    def __init__(self, total: int, reserve: str, longest: int, fit: str = "first") -> None:
        self._allocator = ContiguousAllocator(total, fit)
        self._reserve = RESERVES[reserve]
        self._longest = longest
        self._runs: dict[int, Run] = {}
        self._stored: dict[int, int] = {}

    def refusal(self, request: Request) -> str:
        if request.tokens - 1 > self._longest:
            return f"it becomes {request.tokens - 1} tokens long, and {self._longest} are allowed"
        needed = self._reserve(request, self._longest)
        if needed > self._allocator.total:
            return f"it reserves {needed} slots, and there are {self._allocator.total}"
        return ""

    def cached(self, request: Request) -> int:
        return 0

    def admit(self, number: int, request: Request, generated: int) -> Admission | None:
        try:
            self._runs[number] = self._allocator.allocate(self._reserve(request, self._longest))
        except OutOfMemory:
            return None
        self._stored[number] = len(request.prompt) + generated
        return Admission(0)

    def append(self, number: int, token: int) -> None:
        if self._stored[number] == self._runs[number].length:
            panic(f"append: request {number} has outgrown what was reserved for it")
        self._stored[number] += 1

    def finish(self, number: int) -> None:
        self._allocator.free(self._runs.pop(number))
        del self._stored[number]

    def preempt(self, number: int) -> int:
        self.finish(number)
        return 0

    def usage(self) -> Usage:
        stored = sum(self._stored.values())
        reserved = self._allocator.used_slots - stored
        free = self._allocator.largest_hole
        external = self._allocator.free_slots - free
        return Usage(stored=stored, reserved=reserved, external=external, free=free)

    def audit(self) -> None:
        self._allocator.audit(self._runs.values())
