"""The formula of smolprobe's page counts, against counts known before and against counting one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smolprobe_formula import PAGE, SMOLLM2_135M, Cache, new_pages, new_tables, touched

KNOWN = [  # offset, steps, pages
    (1232, 12, 179),  # the lab's transcript: 3 prompt tokens, 10 generated
    (1264, 5, 119),  # the lab's default request
    (0, 12, 180),
    (16, 12, 179),
    (3072, 12, 179),
    (3088, 12, 239),
    (0, 1, 60),
    (0, 6, 120),
    (0, 16, 180),
    (0, 17, 240),
    (0, 256, 2880),
    (16, 256, 2880),
]


@pytest.mark.parametrize(("offset", "steps", "pages"), KNOWN)
def test_known_counts(offset, steps, pages):
    assert new_pages(SMOLLM2_135M, offset, steps) == pages


def test_the_capacity_is_the_labs():
    assert SMOLLM2_135M.pages == 2880


caches = st.builds(
    lambda layers, pages, positions: Cache(2 * layers, pages * PAGE, pages * PAGE // positions),
    layers=st.integers(1, 5),
    pages=st.integers(1, 9),
    positions=st.sampled_from([1, 2, 4, 16, 64, 256]),
)


@given(caches, st.integers(0, 255), st.data())
def test_the_formula_counts_what_is_touched(cache, sixteenths, data):
    offset = 16 * sixteenths
    steps = data.draw(st.integers(1, cache.array_bytes // cache.position_bytes))
    pages = touched(cache, offset, first_page=1000, steps=steps)
    already_mapped = {1000} if offset else set()
    assert new_pages(cache, offset, steps) == len(pages - already_mapped)


@pytest.mark.parametrize(
    ("first_page", "steps", "tables"),
    [
        (64 * 512 + 300, 12, 6),  # as in the lab: its 6 are the difference of 185 and 179
        (64 * 512 + 238, 12, 6),
        (64 * 512 + 237, 12, 5),  # the last array starts 59 * 48 pages on, and reaches into 3
        (64 * 512, 12, 5),  # this table is there: its first page holds what lies before K
        (64 * 512 + 192, 256, 6),
        (64 * 512 + 191, 256, 5),
    ],
)
def test_known_tables(first_page, steps, tables):
    assert new_tables(SMOLLM2_135M, 1232, first_page, steps) == tables


def test_a_cache_that_begins_where_a_table_does_needs_that_table():
    assert new_tables(SMOLLM2_135M, 0, 64 * 512, 12) == 6
