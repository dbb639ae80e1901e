"""The formulas of shared pages, against counts known before and against counting one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smolprobe_formula import PAGE, SMOLLM2_135M, Cache
from smolsample_formula import (
    all_pages,
    copied_pages,
    fits,
    full_copy_pages,
    new_pages,
    pages_of,
    share,
)

BLOCKS = Cache(arrays=1, array_bytes=80 * PAGE, position_bytes=PAGE // 16)
"""One array whose pages are blocks of 16 tokens."""

KNOWN = [  # offset, prompt, generate, samples -> copied, new, full copy
    (0, 24, 32, 4, 180, 1440, 1200),  # 18,432 bytes: 4.5 pages; 42,240 in the end: 10.3 pages
    (0, 16, 32, 4, 0, 1440, 720),  # exactly three pages: there is nothing to copy
    (0, 5, 32, 4, 180, 1440, 240),  # less than a page: everything is copied, but for the last
    (2048, 24, 32, 4, 0, 1440, 1200),  # 20,480 bytes: exactly five pages
    (0, 24, 1, 4, 0, 0, 1200),  # a token that is not taken in
    (0, 24, 32, 1, 0, 360, 300),  # nobody to share with
]


@pytest.mark.parametrize(("offset", "prompt", "generate", "samples", "copied", "new", "full"), KNOWN)
def test_known_counts(offset, prompt, generate, samples, copied, new, full):
    assert copied_pages(SMOLLM2_135M, offset, prompt, generate, samples) == copied
    assert new_pages(SMOLLM2_135M, offset, prompt, generate, samples) == new
    assert full_copy_pages(SMOLLM2_135M, offset, prompt, samples) == full


def test_a_parent_that_holds_on_makes_the_last_sample_copy_too():
    assert copied_pages(SMOLLM2_135M, 0, 24, 32, 4, keep=True) == 240


def test_beam_search_in_blocks_of_16_copies_3_where_full_copies_take_189():
    """A prompt of 1,000 tokens, width 4: the first beam takes over from the prompt, three are forked."""
    beam = share(BLOCKS, 0, 1000, 1001)
    assert (len(beam.shared), 3 * len(beam.shared)) == (63, 189)
    assert copied_pages(BLOCKS, 0, 1000, 2, 4) == 3 * len(beam.written) == 3


caches = st.builds(
    lambda layers, pages, positions: Cache(2 * layers, pages * PAGE, pages * PAGE // positions),
    layers=st.integers(1, 4),
    pages=st.integers(1, 9),
    positions=st.sampled_from([1, 2, 4, 16, 64, 256]),
)


@given(caches, st.integers(0, 255), st.data())
def test_the_formulas_count_what_is_touched(cache, sixteenths, data):
    offset = 16 * sixteenths
    positions = cache.array_bytes // cache.position_bytes
    prompt = data.draw(st.integers(1, positions))
    generate = data.draw(st.integers(1, positions - prompt + 1))
    samples = data.draw(st.integers(1, 11))
    one = share(cache, offset, prompt, prompt + generate - 1)
    assert len(one.shared) <= full_copy_pages(cache, offset, prompt, 1)
    if fits(cache, offset, prompt, generate):
        assert full_copy_pages(cache, offset, prompt, samples) == samples * len(one.shared)
        assert new_pages(cache, offset, prompt, generate, samples) == samples * len(one.fresh)
        assert copied_pages(cache, offset, prompt, generate, samples, keep=True) == samples * len(one.written)


@given(caches, st.integers(0, 255))
def test_every_page_holds_some_position(cache, sixteenths):
    positions = cache.array_bytes // cache.position_bytes
    assert pages_of(cache, 16 * sixteenths, 0, positions) == all_pages(cache, 16 * sixteenths)
