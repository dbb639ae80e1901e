"""How long a step of the model takes: a straight line through what serving engines show.

Every step reads all weights once; each prompt token is computed, each sequence that decodes costs a
little, and each token of its context is read. The defaults are of the order of a model of eight
billion weights on one accelerator of 2 TB/s. They are no measurement: what they are good for is
comparing policies.
"""

from dataclasses import dataclass
from typing import Final

from nexemu.serve.request import MICROSECOND, MILLISECOND


@dataclass(frozen=True, slots=True)
class Costs:
    """All in nanoseconds. ``token_bytes`` are the keys and values of one token."""

    step: int = 8 * MILLISECOND
    prefill: int = 100 * MICROSECOND  # for each prompt token
    decode: int = 20 * MICROSECOND  # for each sequence
    context: int = 64  # for each token of a decoding sequence
    token_bytes: int = 128 << 10

    def of_step(self, prefilled: int, decoding: int, context: int) -> int:
        """A step that computes ``prefilled`` prompt tokens, and one token for each of ``decoding``
        sequences, which have ``context`` tokens in all."""
        return self.step + self.prefill * prefilled + self.decode * decoding + self.context * context

    def of_transfer(self, tokens: int, bytes_per_second: int) -> int:
        """Copying the keys and values of ``tokens`` over a link."""
        return tokens * self.token_bytes * 1_000_000_000 // bytes_per_second


PCIE: Final = 25_000_000_000
"""Bytes a second between the device and the host's memory."""

SSD: Final = 3_000_000_000
"""Bytes a second from a disk."""
