"""smolbeam: the same beams as a search in NumPy, and pages that are copied as the formula says."""

import struct

import numpy as np
import pytest
from smolprobe_machine import TINY
from smolsample_formula import share
from smolsample_machine import TINY_CACHE, cache_of, run

from nexemu.events import Exit, Fork, Reap
from nexemu.memlayout import KERNEL_PAGES
from nexemu.model.assets import AssetFolder
from nexemu.model.geometry import Geometry
from nexemu.model.reference import Reference
from nexemu.param import RAM_BYTES_WITH_MODEL

BLOCKS_OF_16 = Geometry(
    dim=64,
    hidden=256,
    layers=1,
    heads=1,
    kv_heads=1,
    vocab=1024,
    seq_len=1024,
    runtime_seq_len=1024,
    rms_eps=1e-5,
    rope_theta=10_000.0,
)
"""A position takes 256 bytes of K, and of V, so that a page is a block of 16 tokens."""


SMALLEST = (KERNEL_PAGES + 64) * 4096
"""A machine just large enough to be one."""


def beams(image, *options, prompt=(1, 2, 3), generate=12, **machine):
    words = ("--prompt-tokens", ",".join(map(str, prompt)), "--gen-len", str(generate))
    ran = run("smolbeam", *words, *options, image=image, **machine)
    assert ran.status == 0, ran.output
    return ran


# ---- what is chosen ---------------------------------------------------------------------------


def log_probabilities(reference, tokens):
    """Of what may follow ``tokens``."""
    reference.position = 0
    for token in tokens:
        logits = reference.forward(token)
    return logits - np.logaddexp.reduce(logits.astype(np.float64))


def search(reference, prompt, width, generate):
    """The best texts and their scores, by brute force: every beam with every token."""
    texts = [((), 0.0)]
    for _ in range(generate):
        grown = [
            ((*text, token), score + gain)
            for text, score in texts
            for token, gain in enumerate(log_probabilities(reference, (*prompt, *text)))
        ]
        texts = sorted(grown, key=lambda pair: -pair[1])[:width]
    return texts


@pytest.mark.parametrize(("width", "generate"), [(1, 6), (2, 5), (4, 6), (5, 1)])
def test_the_beams_are_those_of_a_search_without_processes(tiny, width, generate):
    expected = search(Reference(AssetFolder(tiny)), (1, 2, 3), width, generate)
    ran = beams(tiny, "--width", str(width), generate=generate)
    scores = [float(line.split("score=")[1].split()[0]) for line in ran.lines if " score=" in line]
    assert scores == sorted(scores, reverse=True)
    assert np.abs(np.array(scores) - [score for _, score in expected]).max() < 0.02
    assert [tuple(tokens) for tokens in ran.tokens("beam")] == [text for text, _ in expected]


def test_one_beam_is_greedy(tiny):
    greedy = run(
        "smolsample", "--prompt-tokens", "1,2,3", "--gen-len", "12", "--temperature", "0", image=tiny
    ).tokens("sample")[0]
    assert beams(tiny, "--width", "1").tokens("beam") == [greedy]


@pytest.mark.parametrize(("lazy", "cow"), [(True, False), (False, True), (False, False)])
def test_beams_are_the_same_however_memory_is_shared(tiny, lazy, cow):
    assert beams(tiny, lazy=lazy, cow=cow).tokens("beam") == beams(tiny).tokens("beam")


def test_the_logarithm(run_piece):
    x = np.concatenate([np.linspace(1, 3, 1000), np.geomspace(1, 1e9, 1000)]).astype("<f4")
    found = np.frombuffer(run_piece("scorer", "log", x.tobytes()), "<f4")
    assert np.abs(found - np.log(x.astype(np.float64))).max() < 3e-6


def test_log_probabilities(run_piece):
    logits = np.random.default_rng(1).normal(0, 4, 512).astype("<f4")
    found = np.frombuffer(
        run_piece("scorer", "likely", struct.pack("<2I", 5, 512) + logits.tobytes()),
        [("token", "<u4"), ("log", "<f4")],
    )
    order = np.argsort(-logits)[:5]
    assert found["token"].tolist() == order.tolist()
    assert np.abs(found["log"] - (logits - np.logaddexp.reduce(logits))[order]).max() < 1e-5


# The beam that each of the chosen continues, best first; then who is in each slot, as (beam, which of the
# chosen); and a bit for each slot in which a beam must make room.
PLACES = [
    ([0, 0, 0, 0], [(0, 0), (0, 1), (0, 2), (0, 3)], 0b1110),
    ([3, 2, 1, 0], [(0, 3), (1, 2), (2, 1), (3, 0)], 0b0000),
    ([2, 2, 0, 2], [(0, 2), (2, 1), (2, 0), (2, 3)], 0b1010),
    ([1, 1, 1], [(1, 1), (1, 0), (1, 2)], 0b101),
    ([0], [(0, 0)], 0b0),
]


@pytest.mark.parametrize(("chosen", "places", "room"), PLACES)
def test_the_best_continuation_of_a_beam_stays_where_it_is(run_piece, chosen, places, room):
    out = run_piece("scorer", "assign", struct.pack(f"<{1 + len(chosen)}I", len(chosen), *chosen))
    found_room, *found = np.frombuffer(out, "<u4").tolist()
    assert found_room == room
    assert list(zip(found[::2], found[1::2], strict=True)) == places


# ---- what it costs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "generate", "offset"), [(3, 12, 0), (25, 20, 0), (30, 12, 1232), (3, 40, 2048)]
)
def test_each_step_copies_what_its_forks_write_to(tiny, prompt, generate, offset):
    ran = beams(tiny, "--kv-offset", str(offset), prompt=range(prompt), generate=generate)
    steps = ran.all_numbers("step")
    assert len(steps) == generate - 1
    for position, step in enumerate(steps, start=prompt):
        beam = share(TINY_CACHE, offset, position, position + 1)
        assert step["copied_pages"] == step["forked"] * len(beam.written)
        assert step["full_copy_blocks"] == step["forked"] * len(beam.shared) // TINY_CACHE.arrays
        assert step["new_pages"] == 4 * len(beam.fresh)
        assert step["copied_blocks"] == step["copied_pages"] // TINY_CACHE.arrays
    assert (steps[0]["killed"], steps[0]["forked"]) == (0, 3)
    assert all(step["killed"] == step["forked"] for step in steps[1:])
    assert sum(step["forked"] for step in steps) > 3


@pytest.mark.parametrize("offset", [0, 4080])
def test_the_steps_add_up_to_the_faults(tiny, offset):
    """Up to the end of the cache, where arrays reach into each other's pages."""
    ran = beams(tiny, "--kv-offset", str(offset), prompt=range(3), generate=61)
    at = ran.layout(TINY, offset)
    copied = len(ran.faults("cow-copy", at.cache, at.end))
    assert sum(step["copied_pages"] for step in ran.all_numbers("step")) == copied
    assert ran.numbers("SUMMARY")["copied_pages"] == copied
    fresh = len(ran.faults("lazy", at.cache, at.end)) - len(share(TINY_CACHE, offset, 3, 3).shared)
    assert (
        sum(step["new_pages"] for step in ran.all_numbers("step"))
        == fresh
        == ran.numbers("beams")["new_pages"]
    )


def test_no_page_of_weights_is_ever_copied(tiny):
    ran = beams(tiny, generate=30)
    at = ran.layout(TINY, 0)
    assert ran.faults("cow-copy", at.weights, at.workspace) == []


def test_every_beam_is_inits_child_and_waited_for_by_it(tiny):
    """Two forks a beam: one whose child init inherits, and that one."""
    ran = beams(tiny)
    forks = ran.events.of(Fork)
    beams_made = 1 + ran.numbers("beams")["forked"]
    assert len(forks) == 2 + 2 * beams_made
    ended = {event.pid for event in ran.events.of(Exit) if event.status == -1}
    assert len(ended) == beams_made
    assert {event.child for event in ran.events.of(Reap) if event.parent == 3} >= ended


@pytest.mark.parametrize("lazy", [True, False])
def test_without_copy_on_write_every_fork_copies_the_cache(tiny, lazy):
    ran = beams(tiny, lazy=lazy, cow=False)
    for step in ran.all_numbers("step"):
        assert step["copied_blocks"] == step["full_copy_blocks"]
    assert ran.numbers("SUMMARY")["copied_pages"] == ran.numbers("SUMMARY")["full_copy_pages"] > 0
    assert ran.lines[-1].startswith("[smolbeam] verdict=COPY_STYLE ")


def test_with_it_a_prompt_of_1000_tokens_in_blocks_of_16_is_forked_for_3_blocks_instead_of_189(
    make_image, tmp_path
):
    (tmp_path / "long.txt").write_bytes(b"0123456789" * 100)
    options = ("--prompt-file", "long.txt", "--gen-len", "2", "--width", "4")
    ran = run("smolbeam", *options, image=make_image(BLOCKS_OF_16), folders=[tmp_path])
    assert ran.numbers("request") == {"prompt_tokens": 1000, "gen_tokens": 2, "width": 4}
    assert ran.numbers("prefill") == {"kv_pages": 126, "kv_blocks": 63, "block_pages": 2}
    step = ran.numbers("step")
    assert (step["forked"], step["copied_blocks"], step["full_copy_blocks"]) == (3, 3, 189)
    at = ran.layout(BLOCKS_OF_16, 0, files_before=1)
    assert len(ran.faults("cow-copy", at.cache, at.end)) == 3 * 2
    assert cache_of(BLOCKS_OF_16).array_bytes == 64 * 4096


def test_too_little_memory_is_found_out_before_a_beam_dies_of_it(tiny):
    """On machines from one that cannot read the weights up to the first that completes the search."""
    last_lines = set()
    for size in range(SMALLEST, 8 << 20, 1 << 14):
        ran = run("smolbeam", "--prompt-tokens", "1,2,3", "--gen-len", "9", image=tiny, memory=size)
        if ran.status == 0:
            break
        last_lines.add(ran.lines[-1])
    assert ran.status == 0
    assert any(line.startswith("smolbeam: fork failed for beam ") for line in last_lines)
    assert any(line.startswith("smolbeam: out of memory: ") for line in last_lines)
    assert "smolbeam: the beams died" not in last_lines


# ---- the real model ---------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.slow
def test_beams_of_smollm2(smollm2):
    ran = run(
        *("smolbeam", "--prompt", "The capital of France is", "--gen-len", "4"),
        image=smollm2,
        memory=RAM_BYTES_WITH_MODEL,
    )
    assert ran.numbers("prefill") == {"kv_pages": 60, "kv_blocks": 1, "block_pages": 60}
    first, *others = ran.all_numbers("step")
    assert (first["forked"], first["copied_pages"], first["full_copy_blocks"]) == (3, 180, 3)
    assert first["new_pages"] == 240  # the sixth position begins in the first page and ends in the second
    assert [step["copied_pages"] for step in others] == [60 * step["forked"] for step in others]
    assert ran.tokens("beam")[0][0] == 7042
