"""The sampler: its generator, top-k, top-p and temperature, against NumPy and by what is likely."""

import struct

import numpy as np
import pytest

from nexemu.dice import Dice

SPLITMIX64 = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
"""What the generator is published to give for the seed 1234567."""


@pytest.fixture
def piece(run_piece):
    def piece(part, data):
        return run_piece("sampler", part, data)

    return piece


def test_the_generator_is_splitmix64(piece):
    assert np.frombuffer(piece("random", struct.pack("<2Q", 1234567, 5)), "<u8").tolist() == SPLITMIX64


@pytest.mark.parametrize("k", [1, 2, 3, 40, 255, 256])
def test_the_best_are_found_in_order(piece, k):
    rng = np.random.default_rng(k)
    logits = rng.integers(-20, 20, 256).astype("<f4")  # so few different ones that many are equal
    found = np.frombuffer(piece("best", struct.pack("<2I", k, 256) + logits.tobytes()), "<u4")
    assert found.tolist() == np.argsort(-logits, kind="stable")[:k].tolist()


class Sampler:
    """The same in float64."""

    def __init__(self, temperature, top_p, top_k, seed):
        self.temperature, self.top_p, self.top_k, self.dice = temperature, top_p, top_k, Dice(seed)

    def kept(self, logits):
        """The tokens that can be chosen, and their weights."""
        order = np.argsort(-logits, kind="stable")[: self.top_k]
        weights = np.exp((logits[order] - logits[order[0]]) / self.temperature)
        count = int(np.searchsorted(np.cumsum(weights), self.top_p * weights.sum())) + 1
        return order[:count], weights[:count]

    def choose(self, logits):
        tokens, weights = self.kept(logits)
        point = (self.dice.bits() >> 40) / 2**24 * weights.sum()
        return int(tokens[min(int(np.searchsorted(np.cumsum(weights), point, "right")), len(tokens) - 1)])


def choose(piece, temperature, top_p, top_k, n, seed, logits):
    head = struct.pack("<2f2IQ", temperature, top_p, top_k, n, seed)
    return np.frombuffer(piece("choose", head + logits.astype("<f4").tobytes()), "<u4").tolist()


LOGITS = np.random.default_rng(3).normal(0, 3, 256).astype(np.float32).astype(np.float64)
SETTINGS = [
    (0.8, 0.95, 40),
    (1.0, 1.0, 256),
    (2.5, 0.5, 100),
    (0.3, 0.9, 5),
    (100.0, 0.9, 256),
    (1.0, 0.001, 9),
]


@pytest.mark.parametrize(("temperature", "top_p", "top_k"), SETTINGS)
def test_what_is_chosen_is_chosen_in_float64_too(piece, temperature, top_p, top_k):
    sampler = Sampler(temperature, top_p, top_k, seed=11)
    chosen = choose(piece, temperature, top_p, top_k, 500, 11, LOGITS)
    assert chosen == [sampler.choose(LOGITS) for _ in range(500)]


@pytest.mark.parametrize(("temperature", "top_p", "top_k"), SETTINGS)
def test_tokens_come_as_often_as_they_are_likely(piece, temperature, top_p, top_k):
    tokens, weights = Sampler(temperature, top_p, top_k, seed=0).kept(LOGITS)
    chosen = choose(piece, temperature, top_p, top_k, 4000, 5, LOGITS)
    assert set(chosen) <= set(tokens.tolist())
    shares = np.array([chosen.count(token) for token in tokens]) / 4000
    likely = weights / weights.sum()
    assert np.abs(shares - likely).max() < 4 * np.sqrt(0.25 / 4000)  # four standard deviations at most


def test_temperature_0_is_the_likeliest_the_first_of_equal_ones(piece):
    assert choose(piece, 0.0, 0.95, 40, 3, 1, np.array([1.0, 5.0, 5.0] + [0.0] * 61)) == [1, 1, 1]


def test_top_k_1_is_so_at_every_temperature(piece):
    assert choose(piece, 3.0, 1.0, 1, 20, 1, LOGITS) == [int(LOGITS.argmax())] * 20


def test_an_infinitely_unlikely_token_is_not_chosen(piece):
    logits = np.array([0.0, -200.0] * 8)
    assert set(choose(piece, 1.0, 1.0, 16, 200, 1, logits)) <= set(range(0, 16, 2))


def test_decimals(piece):
    texts = ("0", "0.8", "1", "0.95", "100", "00.5", "0.000001", "99.999999", "0.1234567")
    read = np.frombuffer(piece("decimal", b"".join(text.encode() + b"\0" for text in texts)), "<f4")
    assert read.tolist() == [
        np.float32(value) for value in (0, 0.8, 1, 0.95, 100, 0.5, 1e-6, 99.999999, 0.123456)
    ]
