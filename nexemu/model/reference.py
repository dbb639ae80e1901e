"""The decoder in float32 NumPy: what a guest's logits are measured against.

The shapes are in the comments, H the heads, G the KV heads, D = head_dim, P the positions so far.
It takes its weights from a GGUF file or from an asset folder, so that what int8 costs can be told
from what the guest's own arithmetic costs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nexemu.model.assets import rope_table
from nexemu.model.weights import Floats, Layer, Weights

RoundActivation: TypeAlias = Callable[[Floats], Floats]
"""Stands between an activation and the matrix that takes it: a guest's rounding, played in float32."""


def exactly(activation: Floats) -> Floats:
    """No rounding at all."""
    return activation


@dataclass(frozen=True, slots=True)
class Step:
    """One greedily chosen token, and by how much its logit beat the second best."""

    token: int
    gap: float


class Reference:
    """A model with its KV cache: feed it tokens one by one."""

    def __init__(self, weights: Weights, rounding: RoundActivation = exactly) -> None:
        g = weights.geometry
        self.geometry = g
        self._rounding = rounding
        self._layers = [weights.layer(index) for index in range(g.layers)]
        self._embedding = weights.embedding()  # [vocab][dim]
        self._final_norm = weights.final_norm()  # [dim]
        self._rope = rope_table(g)  # [position][2][D/2]
        self._keys = np.zeros((g.layers, g.runtime_seq_len, g.kv_heads, g.head_dim), np.float32)
        self._values = np.zeros_like(self._keys)
        self.position = 0

    def forward(self, token: int) -> Floats:
        """Take ``token`` in at the next position; the logits [vocab] of what follows it."""
        x = self._embedding[token]  # [dim]
        for index, layer in enumerate(self._layers):
            x = x + self._attention(index, layer, self._norm(x, layer.input_norm))
            x = x + self._mlp(layer, self._norm(x, layer.post_norm))
        self.position += 1
        return self._times(self._embedding, self._norm(x, self._final_norm))

    def greedy(self, prompt: Sequence[int], count: int) -> list[Step]:
        """Forget all positions, take ``prompt`` in, and choose ``count`` tokens one after another."""
        self.position = 0
        for token in prompt[:-1]:
            self.forward(token)
        steps: list[Step] = []
        token = prompt[-1]
        for _ in range(count):
            logits = self.forward(token)
            token = int(logits.argmax())
            second, best = np.partition(logits, -2)[-2:]
            steps.append(Step(token, float(best - second)))
        return steps

    def _attention(self, index: int, layer: Layer, x: Floats) -> Floats:
        """Grouped-query attention of the position that ``x`` [dim] is at, over all so far."""
        g = self.geometry
        here = self.position
        query = self._rotate(self._times(layer.q, x).reshape(g.heads, g.head_dim))  # [H][D]
        self._keys[index, here] = self._rotate(self._times(layer.k, x).reshape(g.kv_heads, g.head_dim))
        self._values[index, here] = self._times(layer.v, x).reshape(g.kv_heads, g.head_dim)
        keys = self._keys[index, : here + 1]  # [P][G][D]
        values = self._values[index, : here + 1]
        groups = query.reshape(g.kv_heads, -1, g.head_dim)  # [G][H/G][D]
        scores = np.einsum("grd,pgd->grp", groups, keys) / np.float32(np.sqrt(g.head_dim))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed: Floats = np.einsum("grp,pgd->grd", weights, values).reshape(g.dim)
        return self._times(layer.o, mixed)

    def _mlp(self, layer: Layer, x: Floats) -> Floats:
        """SwiGLU: down(silu(gate x) * up x)."""
        gate = self._times(layer.gate, x)  # [hidden]
        with np.errstate(over="ignore"):  # exp of a large number is infinite, and silu then 0, as it should
            silu = gate / (1 + np.exp(-gate))
        return self._times(layer.down, silu * self._times(layer.up, x))

    def _rotate(self, heads: Floats) -> Floats:
        """RoPE on [heads][D] at this position, pairs (i, i + D/2)."""
        cos, sin = self._rope[self.position]  # [D/2] each
        first, second = np.split(heads, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    def _norm(self, x: Floats, weight: Floats) -> Floats:
        mean_square = np.mean(x * x, dtype=np.float32)
        normed: Floats = x / np.sqrt(mean_square + np.float32(self.geometry.rms_eps)) * weight
        return normed

    def _times(self, matrix: Floats, x: Floats) -> Floats:
        """[rows][cols] times [cols]."""
        product: Floats = matrix @ self._rounding(x)
        return product
