"""NexOS's asset files: the one place that knows their layout, for writing and for reading.

All little-endian. A quantised matrix is f32 scale[rows], then int8 [rows][cols].

| file            | content                                                                  |
| --------------- | ------------------------------------------------------------------------ |
| CFG.BIN         | :class:`~nexemu.model.geometry.Geometry`, version 1 (48 bytes)           |
| EMB.BIN         | the embedding [vocab][dim], quantised                                    |
| NRM.BIN         | f32 final norm [dim]                                                     |
| L00.BIN ...     | f32 input norm, f32 post-attention norm, then q k v o gate up down       |
| ROP.BIN         | for each position f32 cos [head_dim/2], f32 sin [head_dim/2]             |
| PMT, EXP        | u32 count, u32 token ids: the default prompt, and what should follow it  |
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from nexemu.errors import OperatorError
from nexemu.model.cache import layer_file
from nexemu.model.geometry import Geometry
from nexemu.model.weights import Floats, Layer, RowQuantised

CFG_MAGIC: Final = 0x31474643  # "CFG1"
CFG: Final = struct.Struct("<10I2f")
F32: Final = np.dtype("<f4")


def config_bytes(geometry: Geometry) -> bytes:
    """CFG.BIN, version 1."""
    g = geometry
    sizes = (g.dim, g.hidden, g.layers, g.heads, g.kv_heads, g.vocab, g.seq_len, g.runtime_seq_len)
    return CFG.pack(CFG_MAGIC, 1, *sizes, g.rms_eps, g.rope_theta)


def floats_bytes(values: Floats) -> bytes:
    return values.astype(F32, copy=False).tobytes()


def matrix_bytes(matrix: RowQuantised) -> bytes:
    return floats_bytes(matrix.scale) + matrix.q.tobytes()


def layer_bytes(
    geometry: Geometry, input_norm: Floats, post_norm: Floats, matrices: Mapping[str, RowQuantised]
) -> bytes:
    """One Lnn.BIN; ``matrices`` by the names of ``geometry.matrices``."""
    parts = [floats_bytes(input_norm), floats_bytes(post_norm)]
    parts += [matrix_bytes(matrices[shape.name]) for shape in geometry.matrices]
    return b"".join(parts)


def rope_table(geometry: Geometry) -> Floats:
    """[runtime_seq_len][2][head_dim/2]: cos and sin of pos / theta^(2i/head_dim)."""
    half = geometry.head_dim // 2
    frequency = geometry.rope_theta ** (-2 * np.arange(half) / geometry.head_dim)
    angle = np.arange(geometry.runtime_seq_len)[:, None] * frequency
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)


def ids_bytes(ids: Sequence[int]) -> bytes:
    """PMT.BIN or EXP.BIN."""
    return struct.pack(f"<{1 + len(ids)}I", len(ids), *ids)


def layer_size(geometry: Geometry) -> int:
    """Bytes of one Lnn.BIN."""
    return 8 * geometry.dim + sum(4 * m.rows + m.rows * m.cols for m in geometry.matrices)


class AssetFolder:
    """Asset files read back; a :class:`~nexemu.model.weights.Weights` of what int8 left of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        data = self._read("CFG.BIN")
        if len(data) != CFG.size or CFG.unpack(data)[:2] != (CFG_MAGIC, 1):
            raise OperatorError(f"{folder / 'CFG.BIN'} is not a version 1 model configuration")
        fields = CFG.unpack(data)[2:]
        self.geometry = Geometry(*fields)

    def embedding(self) -> Floats:
        g = self.geometry
        data = self._read("EMB.BIN", g.vocab * (4 + g.dim))
        return _matrix_at(data, 0, g.vocab, g.dim).dequantise()

    def final_norm(self) -> Floats:
        return np.frombuffer(self._read("NRM.BIN", 4 * self.geometry.dim), F32)

    def layer(self, index: int) -> Layer:
        """Layer ``index``, dequantised."""
        norms, matrices = self.quantised_layer(index)
        return Layer(*norms, **{name: matrix.dequantise() for name, matrix in matrices.items()})

    def quantised_layer(self, index: int) -> tuple[Floats, dict[str, RowQuantised]]:
        """The two norms, [2][dim], and the matrices by name, as the file holds them."""
        g = self.geometry
        data = self._read(layer_file(index), layer_size(g))
        norms = np.frombuffer(data, F32, 2 * g.dim).reshape(2, g.dim)
        matrices = {}
        offset = norms.nbytes
        for name, rows, cols in g.matrices:
            matrices[name] = _matrix_at(data, offset, rows, cols)
            offset += rows * (4 + cols)
        return norms, matrices

    def ids(self, name: str) -> list[int]:
        """The token ids of PMT.BIN or EXP.BIN."""
        data = self._read(name)
        (count,) = struct.unpack_from("<I", data)
        return list(struct.unpack_from(f"<{count}I", data, 4))

    def _read(self, name: str, size: int | None = None) -> bytes:
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise OperatorError(f"cannot read {self.folder / name}: {error.strerror}") from error
        if size is not None and len(data) != size:
            raise OperatorError(f"{self.folder / name} has {len(data)} bytes where {size} belong")
        return data


def _matrix_at(data: bytes, offset: int, rows: int, cols: int) -> RowQuantised:
    scale = np.frombuffer(data, F32, rows, offset)
    q = np.frombuffer(data, np.int8, rows * cols, offset + 4 * rows).reshape(rows, cols)
    return RowQuantised(scale, q)
