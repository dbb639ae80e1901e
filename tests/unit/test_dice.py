"""A seeded die."""

from nexemu.dice import Dice


def test_it_is_splitmix64():
    """The published outputs for the seed 1234567."""
    dice = Dice(1234567)
    assert [dice.bits() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_each_side_comes_up_equally_often():
    """60,000 throws: each side within five standard deviations, 5 * sqrt(60,000 * 1/6 * 5/6) = 456."""
    dice = Dice(1)
    throws = [dice.roll(6) for _ in range(60_000)]
    assert set(throws) == set(range(6))
    assert all(abs(throws.count(side) - 10_000) < 457 for side in range(6))


def test_one_side_always_comes_up():
    assert Dice(3).roll(1) == 0
