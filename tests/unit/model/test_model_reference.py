"""The float32 decoder, against one in plain loops and against sums done by hand."""

import math

import numpy as np
import pytest

from nexemu.model.assets import AssetFolder
from nexemu.model.reference import Reference
from nexemu.model.synthetic import make_synthetic
from nexemu.model.weights import Layer


class Identity:
    """A model of two dimensions whose blocks add nothing: each token says what it is most like."""

    def __init__(self, geometry, embedding):
        self.geometry = geometry
        self._embedding = np.array(embedding, np.float32)

    def embedding(self):
        return self._embedding

    def final_norm(self):
        return np.ones(self.geometry.dim, np.float32)

    def layer(self, index):
        norms = [np.ones(self.geometry.dim, np.float32)] * 2
        return Layer(*norms, *(np.zeros((m.rows, m.cols), np.float32) for m in self.geometry.matrices))


@pytest.fixture
def weights(tiny, tmp_path):
    make_synthetic(tmp_path, lambda: None, tiny)
    return AssetFolder(tmp_path)


def test_blocks_of_zeros_leave_the_embedding_to_its_norm(tiny):
    embedding = np.zeros((tiny.vocab, tiny.dim))
    embedding[7, 0], embedding[8, 0], embedding[9, 1] = 3, 4, 5
    model = Reference(Identity(tiny, embedding))
    logits = model.forward(7)
    # the norm of a vector with one entry is sqrt(dim) = 8 in that place
    assert logits[[7, 8, 9]].tolist() == pytest.approx([24, 32, 0], rel=1e-4)
    assert [(s.token, s.gap) for s in model.greedy([9, 7], 2)] == [
        (8, pytest.approx(8, rel=1e-4)),
        (8, pytest.approx(8, rel=1e-4)),
    ]


def naive_forward(weights, tokens):
    """The logits after the last of ``tokens``, everything recomputed, one number at a time."""
    g = weights.geometry
    xs = [weights.embedding()[t].tolist() for t in tokens]
    for index in range(g.layers):
        layer = weights.layer(index)
        normed = [naive_norm(x, layer.input_norm, g.rms_eps) for x in xs]
        q = [naive_rope(naive_times(layer.q, x), p, g) for p, x in enumerate(normed)]
        k = [naive_rope(naive_times(layer.k, x), p, g) for p, x in enumerate(normed)]
        v = [naive_times(layer.v, x) for x in normed]
        for p, x in enumerate(xs):
            mixed = naive_attention(q[p], k[: p + 1], v[: p + 1], g)
            xs[p] = [a + b for a, b in zip(x, naive_times(layer.o, mixed), strict=True)]
        for p, x in enumerate(xs):
            n = naive_norm(x, layer.post_norm, g.rms_eps)
            gate, up = naive_times(layer.gate, n), naive_times(layer.up, n)
            hidden = [a / (1 + math.exp(-a)) * b for a, b in zip(gate, up, strict=True)]
            xs[p] = [a + b for a, b in zip(x, naive_times(layer.down, hidden), strict=True)]
    return naive_times(weights.embedding(), naive_norm(xs[-1], weights.final_norm(), g.rms_eps))


def naive_times(matrix, x):
    return [sum(w * a for w, a in zip(row, x, strict=True)) for row in matrix.tolist()]


def naive_norm(x, weight, eps):
    root = math.sqrt(sum(a * a for a in x) / len(x) + eps)
    return [a / root * w for a, w in zip(x, weight.tolist(), strict=True)]


def naive_rope(x, position, g):
    out, d = list(x), g.head_dim
    for head in range(len(x) // d):
        for i in range(d // 2):
            a, b = head * d + i, head * d + i + d // 2
            angle = position / g.rope_theta ** (2 * i / d)
            out[a] = x[a] * math.cos(angle) - x[b] * math.sin(angle)
            out[b] = x[a] * math.sin(angle) + x[b] * math.cos(angle)
    return out


def naive_attention(q, keys, values, g):
    out, d = [], g.head_dim
    for head in range(g.heads):
        kv = head // (g.heads // g.kv_heads)
        mine = q[head * d : head * d + d]
        scores = [sum(a * k[kv * d + i] for i, a in enumerate(mine)) / math.sqrt(d) for k in keys]
        parts = [math.exp(s - max(scores)) for s in scores]
        parts = [part / sum(parts) for part in parts]
        out += [sum(p * v[kv * d + i] for p, v in zip(parts, values, strict=True)) for i in range(d)]
    return out


def test_the_cache_gives_what_recomputing_everything_gives(weights):
    tokens = [7, 260, 7, 31]
    model = Reference(weights)
    for count in range(1, len(tokens) + 1):
        logits = model.forward(tokens[count - 1])
        assert logits.tolist() == pytest.approx(naive_forward(weights, tokens[:count]), abs=2e-4)
    assert model.position == 4


def test_greedy_forgets_what_came_before(weights):
    model = Reference(weights)
    first = model.greedy([1, 2, 3], 4)
    model.greedy([9], 2)
    assert model.greedy([1, 2, 3], 4) == first
    assert all(step.gap >= 0 for step in first)


def test_every_activation_passes_the_rounding(weights, tiny):
    seen = []

    def spy(activation):
        seen.append(activation.shape)
        return activation

    exact = Reference(weights).forward(5)
    assert (Reference(weights, spy).forward(5) == exact).all()
    # q k v o gate up take [dim] and down takes [hidden], in each layer; then the output matrix
    assert seen == [(tiny.dim,)] * 6 + [(tiny.hidden,)] + [(tiny.dim,)] * 6 + [(tiny.hidden,), (tiny.dim,)]
    coarse = Reference(weights, lambda x: np.rint(x * 4) / 4).forward(5)
    assert (coarse != exact).any()
