"""Classes of Unicode code points that a pre-tokenizer splits by, as sorted ranges.

Letters are the categories L*, numbers N*; spaces are the property White_Space, which Python's
``str.isspace`` is not (that one takes the separators U+001C..U+001F in).
"""

import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

Range: TypeAlias = tuple[int, int]
"""First and last code point, both included."""

WHITE_SPACE: Final[tuple[Range, ...]] = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)


@dataclass(frozen=True, slots=True)
class CharClasses:
    """Three disjoint classes; what is in none of them is punctuation, marks, symbols, controls."""

    letters: tuple[Range, ...]
    numbers: tuple[Range, ...]
    spaces: tuple[Range, ...]


def ranges_of(points: Iterable[int]) -> tuple[Range, ...]:
    """Ascending code points, joined into ranges."""
    ranges: list[Range] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return tuple(ranges)


def contains(ranges: tuple[Range, ...], point: int) -> bool:
    """Whether ``point`` lies in one of ``ranges``, which are sorted and disjoint."""
    at = bisect_right(ranges, (point, sys.maxunicode + 1)) - 1
    return at >= 0 and point <= ranges[at][1]


@cache
def unicode_classes() -> CharClasses:
    """The classes as this Python's Unicode database has them."""
    initial = [unicodedata.category(chr(point))[0] for point in range(sys.maxunicode + 1)]
    return CharClasses(
        letters=ranges_of(point for point, first in enumerate(initial) if first == "L"),
        numbers=ranges_of(point for point, first in enumerate(initial) if first == "N"),
        spaces=WHITE_SPACE,
    )
