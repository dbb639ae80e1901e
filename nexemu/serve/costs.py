"""How long a step of the model takes: a straight line through what serving engines show.

Every step reads all weights once; each prompt token is computed, and looks at all tokens before it;
each sequence that decodes costs a little, and each token of its context is read. The defaults are of
the order of a model of eight billion weights on one accelerator of 2 TB/s. They are no measurement:
what they are good for is comparing policies.
"""

from dataclasses import dataclass
from typing import Final

from nexemu.kv.size import LLAMA3_8B
from nexemu.serve.request import MICROSECOND, MILLISECOND

PCIE: Final = 25_000_000_000
"""Bytes a second between the device and the host's memory."""

SSD: Final = 3_000_000_000
"""Bytes a second from a disk."""


@dataclass(frozen=True, slots=True)
class Costs:
    """All in nanoseconds. ``token_bytes`` are the keys and values of one token."""

    step: int = 8 * MILLISECOND
    prefill: int = 100 * MICROSECOND  # for each prompt token
    attention: int = 3  # for each prompt token and each token before it
    decode: int = 20 * MICROSECOND  # for each sequence
    context: int = 64  # for each token of a decoding sequence
    token_bytes: int = LLAMA3_8B.token_bytes

    def of_prefill(self, start: int, end: int) -> int:
        """Computing the tokens of a prompt from ``start`` to ``end``."""
        pairs = (end * (end - 1) - start * (start - 1)) // 2
        return self.prefill * (end - start) + self.attention * pairs

    def of_decode(self, sequences: int, context: int) -> int:
        """A token for each of so many sequences, which have ``context`` tokens in all."""
        return self.decode * sequences + self.context * context

    def of_transfer(self, tokens: int, bytes_per_second: int) -> int:
        """Copying the keys and values of ``tokens`` over a link."""
        return tokens * self.token_bytes * 1_000_000_000 // bytes_per_second
