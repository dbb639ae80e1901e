"""Which pages samples copy, add and write in place: page faults and memstat, against the formula."""

from typing import NamedTuple

import pytest
from smolprobe_machine import TINY
from smolsample_formula import Share, copied_pages, fits, full_copy_pages, new_pages, pages_of, share
from smolsample_machine import PROGRAM, TINY_CACHE, Layout, Run, run

from nexemu.events import Fork
from nexemu.model.geometry import SMOLLM2_135M, Geometry
from nexemu.param import RAM_BYTES_WITH_MODEL
from nexemu.riscv import PGSIZE

SHAPES = [(1, 1), (1, 2), (3, 10), (31, 2), (32, 9), (33, 3), (20, 44), (1, 63)]
"""Tokens of the prompt, and generated: 32 fill a page, 64 the cache."""

GRID = [
    (prompt, generate, samples, offset, keep)
    for prompt, generate in SHAPES
    for samples, offset, keep in [
        (1, 0, False),
        (2, 1232, False),
        (3, 0, True),
        (4, 2048, False),
        (4, 4080, True),
    ]
    if generate
]


def sample(image, prompt, generate, samples, offset=0, keep=False, **machine):
    options = ("--prompt-tokens", ",".join(map(str, range(prompt))), "--gen-len", str(generate))
    more = ("--samples", str(samples), "--kv-offset", str(offset), *(["--keep"] if keep else []))
    ran = run("smolsample", *options, *more, image=image, **machine)
    assert ran.status == 0, ran.output
    return ran


class Case(NamedTuple):
    """One run of the grid, and what a sample should do with the cache's pages."""

    prompt: int
    generate: int
    samples: int
    offset: int
    keep: bool
    ran: Run
    at: Layout
    expected: Share


@pytest.fixture(scope="module", params=GRID, ids=str)
def case(request, tiny):
    prompt, generate, samples, offset, keep = request.param
    ran = sample(tiny, prompt, generate, samples, offset, keep)
    expected = share(TINY_CACHE, offset, prompt, prompt + generate - 1)
    return Case(*request.param, ran, ran.layout(TINY, offset), expected)


def test_the_faults_are_those_of_the_formula(case):
    """To the page: what each sample copies, what the last one writes in place, what each one adds."""
    ran, at, expected, children = case.ran, case.at, case.expected, case.ran.forked()
    assert len(children) == case.samples
    for child in children:
        alone = child == children[-1] and not case.keep
        copied, reused = ([], expected.written) if alone else (expected.written, [])
        assert sorted(ran.faults("cow-copy", at.cache, at.end, child)) == sorted(copied)
        assert sorted(ran.faults("cow-reuse", at.cache, at.end, child)) == sorted(reused)
        assert sorted(ran.faults("lazy", at.cache, at.end, child)) == sorted(expected.fresh)
    prompt = [page for page in ran.faults("lazy", at.cache, at.end, pid=PROGRAM) if page in expected.shared]
    assert sorted(prompt) == sorted(expected.shared)


def test_the_table_says_what_happened(case):
    ran, at, expected = case.ran, case.at, case.expected
    for row, child in zip(ran.samples, ran.forked(), strict=True):
        assert row["kv_copied"] == len(ran.faults("cow-copy", at.cache, at.end, child))
        assert row["kv_new"] == len(ran.faults("lazy", at.cache, at.end, child))
    copied = len(ran.faults("cow-copy", at.cache, at.end))
    full, fresh = case.samples * len(expected.shared), case.samples * len(expected.fresh)
    first = pages_of(TINY_CACHE, case.offset, case.prompt, case.prompt + 1)
    assert ran.numbers("prefill") == {
        "kv_pages": len(expected.shared),
        "partly_filled": len(expected.shared & first),
    }
    assert ran.numbers("SUMMARY") == {
        "shared_pages": len(expected.shared) - len(expected.written),
        "copied_pages": copied,
        "full_copy_pages": full,
        "saved_pages": full - copied,
        "saved_percent": (full - copied) * 100 // full,
    }
    assert ran.numbers("sample_phase") == {
        "copied_pages": copied,
        "copied_pages_est": copied,
        "new_pages": fresh,
        "new_pages_est": fresh,
    }


def test_the_totals_are_those_of_the_short_formula(case):
    size = (TINY_CACHE, case.offset, case.prompt)
    if fits(*size, case.generate):
        phase, summary = case.ran.numbers("sample_phase"), case.ran.numbers("SUMMARY")
        assert phase["copied_pages"] == copied_pages(*size, case.generate, case.samples, case.keep)
        assert phase["new_pages"] == new_pages(*size, case.generate, case.samples)
        assert summary["full_copy_pages"] == full_copy_pages(*size, case.samples)


@pytest.mark.parametrize("keep", [False, True])
def test_what_is_copied_besides_is_counted_apart(tiny, keep):
    """The workspace, and the data page with the model's description; the stack, before the count begins."""
    ran = sample(tiny, 3, 10, 3, 1232, keep)
    at = ran.layout(TINY, 1232)
    workspace = (at.cache - at.workspace) // PGSIZE
    stack = at.weights - PGSIZE
    for row, child in zip(ran.samples, ran.forked(), strict=True):
        data = len(ran.faults("cow-copy", 0, stack, child))
        alone = child == ran.forked()[-1] and not keep
        assert data == 1
        assert row["other_copied"] == data + (0 if alone else workspace)
        assert len(ran.faults("cow-copy", at.workspace, at.cache, child)) == (0 if alone else workspace)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
def test_no_page_of_weights_is_ever_copied(tiny, keep, lazy):
    ran = sample(tiny, 3, 10, 4, keep=keep, lazy=lazy)
    at = ran.layout(TINY, 0)
    assert at.workspace - at.weights > 30 * PGSIZE
    assert ran.faults("cow-copy", at.weights, at.workspace) == []
    assert {event.pages_copied for event in ran.events.of(Fork)} == {0}


def test_where_sbrk_maps_at_once_samples_copy_every_page_that_they_write(tiny):
    ran = sample(tiny, 20, 44, 4, 1232, lazy=False)
    at = ran.layout(TINY, 1232)
    expected = share(TINY_CACHE, 1232, 20, 63, lazy=False)
    assert expected.fresh == set()
    for child in ran.forked()[:-1]:
        assert sorted(ran.faults("cow-copy", at.cache, at.end, child)) == sorted(expected.written)
    assert ran.numbers("prefill")["kv_pages"] == len(expected.shared) == 13
    assert ran.numbers("SUMMARY")["copied_pages"] == 3 * len(expected.written)
    assert ran.numbers("sample_phase")["copied_pages_est"] == 3 * len(expected.written)


@pytest.mark.parametrize("lazy", [False, True])
def test_without_copy_on_write_fork_copies_everything(tiny, lazy):
    ran = sample(tiny, 3, 10, 4, lazy=lazy, cow=False)
    pages = 4 * len(share(TINY_CACHE, 0, 3, 12, lazy).shared)
    assert ran.numbers("SUMMARY") == {
        "shared_pages": 0,
        "copied_pages": pages,
        "full_copy_pages": pages,
        "saved_pages": 0,
        "saved_percent": 0,
    }
    assert ran.numbers("sample_phase")["copied_pages"] == ran.numbers("sample_phase")["copied_pages_est"] == 0
    assert ran.numbers("fork_phase")["used_pages"] > ran.numbers("fork_phase")["mapped_pages"]
    assert ran.lines[-1].startswith("[smolsample] verdict=COPY_STYLE ")


def test_with_it_four_forks_take_less_than_one_copy(tiny):
    ran = sample(tiny, 3, 10, 4)
    phase = ran.numbers("fork_phase")
    assert phase["weight_pages"] == ran.layout(TINY, 0).workspace // PGSIZE
    assert phase["used_pages"] < phase["weight_pages"]
    assert ran.lines[-1].startswith("[smolsample] verdict=COW_STYLE ")


EIGHT_ANSWERS = Geometry(
    dim=64,
    hidden=64,
    layers=1,
    heads=1,
    kv_heads=1,
    vocab=1024,
    seq_len=2048,
    runtime_seq_len=2048,
    rms_eps=1e-5,
    rope_theta=10_000.0,
)
"""256 bytes a position and array: a page holds 16 tokens."""


@pytest.mark.slow
def test_eight_answers_of_200_tokens_to_a_prompt_of_64_blocks_take_168_blocks(make_image, tmp_path):
    """64 that all share, and 13 for each answer."""
    (tmp_path / "long.txt").write_bytes(b"0123456789abcdef" * 64)
    options = ("--prompt-file", "long.txt", "--samples", "8", "--gen-len", "200")
    ran = run("smolsample", *options, image=make_image(EIGHT_ANSWERS), folders=[tmp_path])
    assert ran.status == 0, ran.output
    arrays, phase = 2, ran.numbers("sample_phase")
    assert ran.numbers("prefill") == {"kv_pages": 64 * arrays, "partly_filled": 0}
    assert phase["copied_pages"] == 0
    assert (ran.numbers("prefill")["kv_pages"] + phase["new_pages"]) // arrays == 168


# ---- the real model ---------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.slow
def test_samples_of_smollm2_share_its_weights_and_copy_60_pages(smollm2):
    """The default prompt has 24 tokens: 18,432 bytes in each of 60 arrays, which are 4.5 pages."""
    ran = run("smolsample", "--gen-len", "4", "--samples", "3", image=smollm2, memory=RAM_BYTES_WITH_MODEL)
    assert ran.status == 0, ran.output
    assert ran.numbers("request")["prompt_tokens"] == 24
    assert ran.numbers("prefill") == {"kv_pages": 300, "partly_filled": 60}
    assert [row["kv_copied"] for row in ran.samples] == [60, 60, 0]
    assert ran.numbers("SUMMARY") == {
        "shared_pages": 240,
        "copied_pages": 120,
        "full_copy_pages": 900,
        "saved_pages": 780,
        "saved_percent": 86,
    }
    assert ran.numbers("sample_phase") == {
        "copied_pages": 120,
        "copied_pages_est": 120,
        "new_pages": 180,  # 2,304 bytes more: one page of each array
        "new_pages_est": 180,
    }
    at = ran.layout(SMOLLM2_135M, 0)
    assert at.workspace - at.weights > 33_000 * PGSIZE
    assert ran.faults("cow-copy", at.weights, at.workspace) == []
    assert ran.numbers("fork_phase")["used_pages"] < 300


@pytest.mark.model
@pytest.mark.slow
def test_without_copy_on_write_each_sample_of_smollm2_copies_its_weights(smollm2):
    options = ("--gen-len", "2", "--samples", "2")
    ran = run("smolsample", *options, image=smollm2, cow=False, memory=RAM_BYTES_WITH_MODEL)
    assert ran.numbers("SUMMARY")["copied_pages"] == 600
    assert ran.numbers("fork_phase")["used_pages"] > 2 * 33_000
