"""Random numbers that repeat: a die for policies that throw one.

Below floor 5 nothing depends on the host, so whoever needs chance is given a seed. SplitMix64 is
eight lines and gives the same throws in every version of Python.
"""

from typing import Final

U64: Final = (1 << 64) - 1
GOLDEN_GAMMA: Final = 0x9E37_79B9_7F4A_7C15


class Dice:
    """The throws that follow from ``seed``.

    >>> Dice(seed=1234567).bits()
    6457827717110365317
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & U64

    def bits(self) -> int:
        """The next 64 random bits."""
        self._state = (self._state + GOLDEN_GAMMA) & U64
        mixed = (self._state ^ (self._state >> 30)) * 0xBF58_476D_1CE4_E5B9 & U64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB & U64
        return mixed ^ (mixed >> 31)

    def roll(self, sides: int) -> int:
        """A number in ``range(sides)``, each as likely as the others to within ``sides`` / 2**64."""
        return self.bits() * sides >> 64
