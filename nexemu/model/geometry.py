"""The sizes of a decoder of the Llama family, and of everything that follows from them.

Shapes are out x in, as a matrix stands before a column vector.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple


class MatrixShape(NamedTuple):
    """One of a layer's matrices: ``rows`` outputs, ``cols`` inputs."""

    name: str
    rows: int
    cols: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """What CFG.BIN says. ``runtime_seq_len`` is what a guest reserves its KV cache for."""

    dim: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    vocab: int
    seq_len: int
    runtime_seq_len: int
    rms_eps: float
    rope_theta: float

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    @property
    def kv_dim(self) -> int:
        """Length of the key (and of the value) of one position in one layer."""
        return self.kv_heads * self.head_dim

    @property
    def matrices(self) -> tuple[MatrixShape, ...]:
        """A layer's matrices in the order of its file."""
        return (
            MatrixShape("q", self.dim, self.dim),
            MatrixShape("k", self.kv_dim, self.dim),
            MatrixShape("v", self.kv_dim, self.dim),
            MatrixShape("o", self.dim, self.dim),
            MatrixShape("gate", self.hidden, self.dim),
            MatrixShape("up", self.hidden, self.dim),
            MatrixShape("down", self.dim, self.hidden),
        )

    @property
    def parameters(self) -> int:
        """Weights in all; the embedding is counted once, since it is the output matrix too."""
        layer = 2 * self.dim + sum(shape.rows * shape.cols for shape in self.matrices)
        return self.vocab * self.dim + self.layers * layer + self.dim

    @property
    def kv_bytes(self) -> int:
        """Bytes of the K cache of ``runtime_seq_len`` positions in float32; V has as many."""
        return self.layers * self.runtime_seq_len * self.kv_dim * 4


RUNTIME_SEQ_LEN: Final = 256

SMOLLM2_135M: Final = Geometry(
    dim=576,
    hidden=1536,
    layers=30,
    heads=9,
    kv_heads=3,
    vocab=49152,
    seq_len=8192,
    runtime_seq_len=RUNTIME_SEQ_LEN,
    rms_eps=1e-5,
    rope_theta=100_000.0,
)
