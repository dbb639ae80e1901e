"""Mmap areas: what one allows and shows, how it is cut, and where the next one goes. ABI.md section 6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexemu.mem.area import Area, highest_gap
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_W, Access

START = 1 << 30
READ, WRITE, FETCH = Access.READ, Access.WRITE, Access.FETCH


class Digits:
    """A file of 5 pages, each full of its number; it knows what was asked of it."""

    def __init__(self):
        self.asked = []

    def read_at(self, offset, count):
        self.asked.append((offset, count))
        content = b"".join(b"%d" % page * PGSIZE for page in range(5))
        return content[offset : offset + count]


@pytest.mark.parametrize(
    ("prot", "allowed", "flags"),
    [(1, {READ}, PTE_R), (2, {READ, WRITE}, PTE_R | PTE_W), (3, {READ, WRITE}, PTE_R | PTE_W)],
)
def test_writing_implies_reading_and_nothing_is_executable(prot, allowed, flags):
    area = Area(START, PGSIZE, prot)
    assert {access for access in Access if area.allows(access)} == allowed
    assert area.flags == PTE_U | flags


@pytest.mark.parametrize(("length", "pages"), [(1, 1), (4096, 1), (4097, 2), (8192, 2)])
def test_an_area_ends_at_a_page(length, pages):
    assert Area(START, length, 1).end == START + pages * PGSIZE


def test_a_page_shows_the_file_from_the_areas_offset_up_to_its_length():
    area = Area(START, PGSIZE + 100, 1, Digits(), 2 * PGSIZE)
    assert bytes(area.content(START)) == b"2" * PGSIZE
    assert bytes(area.content(START + PGSIZE)) == b"3" * 100
    assert area.backing.asked == [(2 * PGSIZE, PGSIZE), (3 * PGSIZE, 100)]


def test_anonymous_memory_shows_nothing():
    assert Area(START, PGSIZE, 3).content(START) == b""


# ---- cutting ----------------------------------------------------------------------------------


@pytest.fixture
def five():
    """Four pages and a hundred bytes of a file, from its page 0."""
    return Area(START, 4 * PGSIZE + 100, 1, Digits())


def page(number):
    return START + number * PGSIZE


def test_cutting_the_front_moves_the_start_and_the_offset(five):
    assert five.cut(START, page(2))
    assert (five.start, five.end, five.length, five.offset) == (
        page(2),
        page(5),
        2 * PGSIZE + 100,
        2 * PGSIZE,
    )
    assert bytes(five.content(page(3))) == b"3" * PGSIZE
    assert bytes(five.content(page(4))) == b"4" * 100


def test_cutting_the_back_shortens(five):
    assert five.cut(page(3), page(5))
    assert (five.start, five.end, five.length, five.offset) == (START, page(3), 3 * PGSIZE, 0)


def test_cutting_all_leaves_nothing(five):
    assert five.cut(START, page(5))
    assert five.length == 0


def test_cutting_all_but_the_partial_page(five):
    assert five.cut(START, page(4))
    assert (five.length, five.offset) == (100, 4 * PGSIZE)


def test_a_hole_in_the_middle_is_refused_and_changes_nothing(five):
    assert not five.cut(page(1), page(4))
    assert (five.start, five.length, five.offset) == (START, 4 * PGSIZE + 100, 0)


# ---- the place for a new one ------------------------------------------------------------------

FLOOR, CEILING = page(0), page(20)


def gap(areas, pages):
    listed = [Area(page(first), count * PGSIZE, 1) for first, count in areas]
    return highest_gap(listed, pages * PGSIZE, FLOOR, CEILING)


@pytest.mark.parametrize(
    ("areas", "pages", "expected"),
    [
        ([], 3, 17),
        ([], 20, 0),
        ([], 21, None),
        ([(17, 3)], 2, 15),
        ([(10, 2)], 3, 17),
        ([(10, 2)], 8, 12),
        ([(10, 2)], 9, 1),
        ([(10, 2)], 11, None),
        ([(18, 1), (10, 2), (9, 1)], 1, 19),
        ([(18, 1), (10, 2), (9, 1)], 6, 12),
        ([(18, 1), (10, 2), (9, 1)], 7, 2),
        ([(18, 1), (10, 2), (9, 1)], 10, None),
    ],
)
def test_the_highest_gap_that_is_large_enough(areas, pages, expected):
    assert gap(areas, pages) == (None if expected is None else page(expected))


@given(st.sets(st.integers(0, 19)), st.integers(1, 20))
def test_the_gap_agrees_with_trying_every_place(taken, pages):
    areas = [(first, 1) for first in sorted(taken, reverse=True)]
    places = [first for first in range(21 - pages) if not taken & set(range(first, first + pages))]
    assert gap(areas, pages) == (page(max(places)) if places else None)
