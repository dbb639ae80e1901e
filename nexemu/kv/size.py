"""How large a KV cache is: arithmetic on a model's shape.

For each token every layer keeps a key and a value of each KV head; all sequences do so for all their
tokens. In NexOS's guest each layer has two arrays, keys and values, that begin on a page each, so a
token that crosses into a new page maps one page in every array.
"""

from dataclasses import dataclass
from typing import Final

from nexemu.riscv import PGSIZE


@dataclass(frozen=True, slots=True)
class KvShape:
    """A model, as far as its KV cache goes."""

    layers: int
    kv_heads: int
    head_dim: int
    element_bytes: int

    @property
    def arrays(self) -> int:
        """Keys and values, of each layer."""
        return 2 * self.layers

    @property
    def row_bytes(self) -> int:
        """One token in one array."""
        return self.kv_heads * self.head_dim * self.element_bytes

    @property
    def token_bytes(self) -> int:
        """One token in all of them."""
        return self.arrays * self.row_bytes

    def total_bytes(self, tokens: int, sequences: int = 1) -> int:
        """So many sequences of ``tokens`` tokens."""
        return self.token_bytes * tokens * sequences

    def pages(self, tokens: int) -> int:
        """Pages that a sequence touches whose arrays begin on a page each."""
        return self.arrays * -(-self.row_bytes * tokens // PGSIZE)


SMOLLM2_135M: Final = KvShape(layers=30, kv_heads=3, head_dim=64, element_bytes=4)
"""What smolprobe keeps, in float32."""

QWEN3_32B: Final = KvShape(layers=64, kv_heads=8, head_dim=128, element_bytes=2)
LLAMA3_8B: Final = KvShape(layers=32, kv_heads=8, head_dim=128, element_bytes=2)
