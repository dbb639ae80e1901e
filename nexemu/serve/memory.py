"""The contract of memories: how the KV cache of running requests is kept.

The engine asks, the memory answers in tokens; blocks, trees and runs are its own affair.
"""

from typing import NamedTuple, Protocol

from nexemu.serve.request import Request


class Admission(NamedTuple):
    """A request may run: its first ``cached`` tokens need no computing, and ``transfer`` nanoseconds of
    copying come before its first step."""

    cached: int
    transfer: int = 0


class Usage(NamedTuple):
    """Where all slots of the device are at one moment; the fields add up to its size.

    ``stored``: tokens of running requests. ``cached``: tokens kept in case somebody needs them again.
    ``reserved``: held for tokens that may never come. ``internal``: the rest of last blocks.
    ``external``: free, but outside the largest hole. ``free``: can be had at once.
    """

    stored: int = 0
    cached: int = 0
    reserved: int = 0
    internal: int = 0
    external: int = 0
    free: int = 0


class Memory(Protocol):
    """Requests are known by numbers. One is running from ``admit`` to ``finish`` or ``preempt``."""

    def refusal(self, request: Request) -> str:
        """Why ``request`` could not run even alone; empty when it could."""

    def cached(self, request: Request) -> int:
        """How many of the prompt's tokens would need no computing if it were admitted now."""

    def admit(self, number: int, request: Request, generated: int) -> Admission | None:
        """Hold the prompt and the first ``generated`` output tokens of ``request``, which were generated
        before it was preempted. All of them will be computed in the step that begins now, but for the
        cached ones; at least the last is. None, and nothing has changed, when there is no room."""

    def append(self, number: int, token: int) -> None:
        """Hold one more token. Raises OutOfMemory, and then nothing has changed."""

    def finish(self, number: int) -> None:
        """A request has ended."""

    def preempt(self, number: int) -> int:
        """Take a running request's memory away; the result is how many nanoseconds that takes. All that
        was appended has been computed."""

    def usage(self) -> Usage:
        """Where all slots are now."""

    def audit(self) -> None:
        """Panic unless every slot is free or somebody's."""


def known_tokens(request: Request, generated: int) -> list[int]:
    """The tokens of ``request`` after so many were generated."""
    return [*request.prompt, *request.output[:generated]]
