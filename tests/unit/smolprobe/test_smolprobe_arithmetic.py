"""The guest's arithmetic, on the machine: the packed multiply is exact, the exponential nearly so."""

import numpy as np
import pytest


def activation_max(cols):
    return (2**31 - 1) // (128 * cols)


def matrix_file(scale, q, x):
    head = np.array(q.shape, "<u4").tobytes()
    return head + scale.astype("<f4").tobytes() + q.astype(np.int8).tobytes() + x.astype("<f4").tobytes()


def dots(run_piece, q, x):
    return np.frombuffer(run_piece("dots", matrix_file(np.ones(len(q)), q, x)), "<i4")


@pytest.mark.parametrize("cols", [8, 64, 576, 1536])
def test_dot_products_of_integers_are_exact(run_piece, cols):
    """x is of integers and its largest is the largest there may be, so that rounding changes nothing."""
    rng = np.random.default_rng(cols)
    q = rng.integers(-127, 128, (16, cols))
    x = rng.integers(-activation_max(cols), activation_max(cols) + 1, cols)
    x[3] = activation_max(cols)
    assert (dots(run_piece, q, x) == q @ x).all()


@pytest.mark.parametrize("cols", [576, 1536, 65536])
@pytest.mark.parametrize("weight", [127, -127, -128])
@pytest.mark.parametrize("signs", [(1, 1), (-1, -1), (1, -1), (-1, 1)])
def test_the_largest_sums_do_not_overflow(run_piece, cols, weight, signs):
    """Every product at its largest, with lanes of equal and of opposite sign."""
    x = np.full(cols, activation_max(cols)).reshape(-1, 8)
    x[:, :4] *= signs[0]
    x[:, 4:] *= signs[1]
    x = x.reshape(-1)
    q = np.full((8, cols), weight)
    q[1] *= np.where(np.arange(cols) % 8 < 4, 1, -1)
    assert (dots(run_piece, q.astype(np.int8), x) == q.astype(np.int8).astype(np.int64) @ x).all()


def test_activations_are_rounded_to_nearest_even(run_piece):
    x = np.zeros(8)
    x[:6] = activation_max(8), 0.5, 1.5, -2.5, 0.49, 3.51
    assert activation_max(8) > 2**20
    one_each = np.eye(8, dtype=np.int64)
    expected = [activation_max(8), 0, 2, -2, 0, 4, 0, 0]
    assert dots(run_piece, one_each, x).tolist() == expected


def test_a_product_is_as_good_as_14_bits_allow(run_piece):
    rng = np.random.default_rng(1)
    q, x = rng.integers(-127, 128, (576, 1536)), rng.standard_normal(1536)
    scale = rng.uniform(0.001, 0.002, 576).astype(np.float32)
    found = np.frombuffer(run_piece("matmul", matrix_file(scale, q, x)), "<f4")
    exact = scale * (q @ x.astype(np.float32).astype(np.float64))
    step = np.abs(x).max() / activation_max(1536)
    worst = scale * np.abs(q).sum(axis=1) * step / 2
    assert (np.abs(found - exact) <= worst).all()
    assert np.abs(found - exact).max() < 1e-3 * np.abs(exact).max()


def test_zeros_give_zeros(run_piece):
    found = run_piece("matmul", matrix_file(np.ones(8), np.full((8, 16), 127), np.zeros(16)))
    assert found == bytes(32)


def test_the_exponential(run_piece):
    x = np.concatenate([np.linspace(-87, 87, 5001), np.linspace(-1, 1, 2001)]).astype("<f4")
    found = np.frombuffer(run_piece("exp", x.tobytes()), "<f4").astype(np.float64)
    error = np.abs(found / np.exp(x.astype(np.float64)) - 1)
    assert error[np.abs(x) <= 1].max() < 2e-7
    assert error.max() < 1e-5


def test_the_exponential_at_its_ends(run_piece):
    x = np.array([0.0, -0.0, -88.0, -np.inf, 88.0, np.inf, 1e-30], "<f4")
    found = np.frombuffer(run_piece("exp", x.tobytes()), "<f4")
    assert found[[0, 1, 6]].tolist() == [1.0, 1.0, 1.0]
    assert found[[2, 3]].tolist() == [0.0, 0.0]
    assert np.isfinite(found).all()
    assert (found[[4, 5]] > 6e37).all()
