"""Weights in memory, before and after row-wise quantisation to int8.

A row of a quantised matrix is ``scale * q`` with ``q`` in -127..127, so that the largest weight of
the row is met exactly and the others are off by half a step (half a scale) at most.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nexemu.model.geometry import Geometry

Floats: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class RowQuantised:
    """A matrix as the asset files hold it: ``scale`` f32 [rows], ``q`` int8 [rows][cols]."""

    scale: Floats
    q: Bytes

    def dequantise(self) -> Floats:
        return self.q * self.scale[:, None]


def quantise_rows(matrix: Floats) -> RowQuantised:
    """Row-wise int8: scale = max|w| / 127 (1.0 for a row of zeros), round half to even, clip to +-127."""
    peak = np.abs(matrix).max(axis=1)
    scale = np.where(peak > 0, peak / np.float32(127), np.float32(1)).astype(np.float32)
    q = np.clip(np.rint(matrix / scale[:, None]), -127, 127).astype(np.int8)
    return RowQuantised(scale, q)


@dataclass(frozen=True, slots=True)
class Layer:
    """One block's weights in float32, rows x cols (out x in); RoPE pairs are (i, i + head_dim/2)."""

    input_norm: Floats  # [dim]
    post_norm: Floats  # [dim]
    q: Floats  # [dim][dim]
    k: Floats  # [kv_dim][dim]
    v: Floats  # [kv_dim][dim]
    o: Floats  # [dim][dim]
    gate: Floats  # [hidden][dim]
    up: Floats  # [hidden][dim]
    down: Floats  # [dim][hidden]


class Weights(Protocol):
    """Where a model's weights come from: a GGUF file or an asset folder."""

    @property
    def geometry(self) -> Geometry: ...

    def embedding(self) -> Floats:
        """[vocab][dim]; it is the output matrix too."""

    def final_norm(self) -> Floats:
        """[dim]"""

    def layer(self, index: int) -> Layer:
        """The block ``index``, from 0."""
