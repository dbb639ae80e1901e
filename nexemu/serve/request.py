"""What a client asks of the server, and what became of it.

Times are in whole nanoseconds of virtual time, so that every sum is exact and every run is the same.
"""

from dataclasses import dataclass
from typing import Final

from nexemu.kv.prefix_cache import Ints

MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """``output`` are the tokens that the model will generate, at least one; the server learns them one
    by one. ``limit``: how many the client allows, which is all that the server knows beforehand.
    ``program``: the conversation or agent that asks. ``urgency``: a class, 0 the most urgent.
    ``namespace``: whose tokens they are; other namespaces share nothing with it."""

    arrival: int
    prompt: Ints
    output: Ints
    limit: int
    program: int = 0
    urgency: int = 0
    namespace: str = ""

    @property
    def tokens(self) -> int:
        """How many tokens it has in the end."""
        return len(self.prompt) + len(self.output)


@dataclass(slots=True)
class Record:
    """A request's life. ``cached``: prompt tokens that were not computed, since they were at hand;
    ``recomputed``: tokens that were computed again after a preemption."""

    request: Request
    admitted: int | None = None
    first_token: int | None = None
    finished: int | None = None
    cached: int = 0
    recomputed: int = 0
    preemptions: int = 0
    refused: str = ""

    @property
    def time_to_first_token(self) -> int:
        """From its arrival, in ns. Only of what has a first token."""
        assert self.first_token is not None
        return self.first_token - self.request.arrival

    @property
    def time_per_token(self) -> float:
        """Between two output tokens on average, in ns; 0 where there is only one."""
        assert self.first_token is not None
        assert self.finished is not None
        return (self.finished - self.first_token) / max(1, len(self.request.output) - 1)
