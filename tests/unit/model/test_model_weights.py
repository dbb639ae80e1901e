"""Sizes, and row-wise quantisation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nexemu.model.assets import layer_size
from nexemu.model.geometry import SMOLLM2_135M
from nexemu.model.weights import quantise_rows


def test_smollm2s_sizes():
    g = SMOLLM2_135M
    assert (g.head_dim, g.kv_dim, g.parameters) == (64, 192, 134_515_008)
    assert 2 * g.kv_bytes == 2880 * 4096
    assert layer_size(g) == 3_564_288


@pytest.mark.parametrize(
    ("row", "scale", "q"),
    [
        ([127, 0.5, 1.5, 2.5, -0.5, -1.5], 1, [127, 0, 2, 2, 0, -2]),  # halves go to the even neighbour
        ([-254, 254, 3, 2], 2, [-127, 127, 2, 1]),
        ([0, 0, 0], 1, [0, 0, 0]),
        ([-0.125], 0.125 / 127, [-127]),
    ],
)
def test_rows_are_scaled_to_127_and_rounded(row, scale, q):
    made = quantise_rows(np.array([row], np.float32))
    assert made.scale.tolist() == [np.float32(scale)]
    assert made.q.tolist() == [q]
    assert (made.scale.dtype, made.q.dtype) == (np.float32, np.int8)


def test_each_row_has_its_own_scale():
    made = quantise_rows(np.array([[127, 1], [0, 0], [1270, 10]], np.float32))
    assert made.scale.tolist() == [1, 1, 10]
    assert made.dequantise().tolist() == [[127, 1], [0, 0], [1270, 10]]


weights = st.floats(-1000, 1000, width=32).filter(lambda w: w == 0 or abs(w) > 1e-6)


@given(arrays(np.float32, (3, 8), elements=weights))
def test_no_weight_is_off_by_more_than_half_a_step(matrix):
    made = quantise_rows(matrix)
    off = np.abs(made.dequantise() - matrix)
    assert (off <= made.scale[:, None] * (0.5 + 1e-4)).all()
    assert np.abs(made.q).max() <= 127
