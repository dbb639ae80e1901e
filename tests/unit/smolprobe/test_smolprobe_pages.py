"""smolprobe's page counts on the real memstat: they are what the formula says, and nothing else."""

import re

import pytest
from smolprobe_formula import SMOLLM2_135M, Cache, new_pages, new_tables
from smolprobe_machine import TINY, smolprobe

from nexemu.memlayout import KERNEL_PAGES
from nexemu.param import RAM_BYTES_WITH_MODEL

TINY_CACHE = Cache(2 * TINY.layers, TINY.runtime_seq_len * TINY.kv_dim * 4, TINY.kv_dim * 4)

SMALLEST = (KERNEL_PAGES + 64) * 4096
"""A machine just large enough to be one."""

LAZY_TRANSCRIPT = """\
[smolprobe] loading LLM assets...
[smolprobe] request prompt_tokens=3 gen_tokens=10
[smolprobe] kv_capacity max_pages=2880 active_pages_est=180
[smolprobe] running decode...
[smolprobe] SUMMARY max_kv_pages=2880 actual_mapped_pages=179 saved_pages=2701 saved_percent=93%
[smolprobe] reserve_phase virtual_pages=2880 mapped_pages=0 used_pages=0
[smolprobe] decode_phase mapped_pages=179 used_pages=185 active_pages_est=180
[smolprobe] verdict=LAZY_STYLE reserve kept KV pages unmapped; decode allocated on demand
"""
EAGER_TRANSCRIPT = """\
[smolprobe] loading LLM assets...
[smolprobe] request prompt_tokens=3 gen_tokens=10
[smolprobe] kv_capacity max_pages=2880 active_pages_est=180
[smolprobe] running decode...
[smolprobe] SUMMARY max_kv_pages=2880 actual_mapped_pages=2880 saved_pages=0 saved_percent=0%
[smolprobe] reserve_phase virtual_pages=2880 mapped_pages=2880 used_pages=2886
[smolprobe] decode_phase mapped_pages=0 used_pages=0 active_pages_est=180
[smolprobe] verdict=EAGER_STYLE reserve mapped most KV pages immediately
"""


REQUESTS = [(1, 1), (3, 10), (20, 13), (1, 32), (1, 33), (2, 62), (30, 34)]
"""Tokens of the prompt, and generated: up to all 64 positions."""


def request(prompt, generate, offset):
    tokens = ",".join(str(token) for token in range(prompt))
    return "--prompt-tokens", tokens, "--gen-len", str(generate), "--kv-offset", str(offset)


@pytest.mark.parametrize("offset", [0, 16, 128, 1232, 2048, 3072, 3584, 3968, 4080])
@pytest.mark.parametrize(("prompt", "generate"), REQUESTS)
def test_lazy_pages(tiny, prompt, generate, offset):
    ran = smolprobe(*request(prompt, generate, offset), image=tiny)
    assert ran.status == 0, ran.output
    pages = new_pages(TINY_CACHE, offset, prompt + generate - 1)
    assert ran.numbers("reserve_phase") == {"virtual_pages": 12, "mapped_pages": 0, "used_pages": 0}
    assert ran.numbers("decode_phase")["mapped_pages"] == pages
    assert ran.numbers("decode_phase")["used_pages"] == pages  # so few that no table is added
    assert ran.numbers("SUMMARY")["actual_mapped_pages"] == pages
    assert ran.numbers("SUMMARY")["saved_pages"] == TINY_CACHE.pages - pages


@pytest.mark.parametrize("offset", [0, 16, 4080])
def test_eager_pages(tiny, offset):
    ran = smolprobe(*request(3, 10, offset), image=tiny, lazy=False)
    assert ran.numbers("reserve_phase") == {"virtual_pages": 12, "mapped_pages": 12, "used_pages": 12}
    assert ran.numbers("decode_phase")["mapped_pages"] == 0
    assert ran.lines[-1].startswith("[smolprobe] verdict=EAGER_STYLE ")


def test_the_estimate_ignores_where_the_cache_starts(tiny):
    for offset in (0, 4080):
        ran = smolprobe(*request(20, 13, offset), image=tiny)
        assert ran.numbers("kv_capacity") == {"max_pages": 12, "active_pages_est": 6}


@pytest.mark.parametrize("lazy", [True, False])
def test_the_machine_gets_everything_back(tiny, lazy):
    """After its end no more frames are in use than after the end of a program that does nothing."""
    ran, idle = (smolprobe(*options, image=tiny, lazy=lazy) for options in (request(3, 10, 0), ["--help"]))
    ran.kernel.audit()
    assert ran.kernel.frames.free_frames == idle.kernel.frames.free_frames


def test_text_is_shown_without_touching_the_counts(tiny):
    options = request(3, 10, 1232)
    silent, shown = (smolprobe(*options, *more, image=tiny) for more in ([], ["--show-text"]))
    assert silent.lines[-4:] == shown.lines[-4:]
    assert len(silent.output) < len(shown.output)


def least_memory(image, lazy):
    """The smallest machine, in steps of two pages, that completes the default request."""
    sizes = range(SMALLEST, SMALLEST + 100 * 4096, 2 * 4096)
    return next(size for size in sizes if smolprobe(image=image, lazy=lazy, memory=size).status == 0)


def test_a_lazy_machine_decodes_where_an_eager_one_refuses_the_reservation(tiny):
    enough = least_memory(tiny, lazy=True)
    refused = smolprobe(image=tiny, lazy=False, memory=enough)
    assert refused.status == 1
    assert re.fullmatch(r"smolprobe: sbrk failed for \d+ bytes", refused.lines[-1])


def test_a_lazy_machine_without_room_for_the_weights_cannot_read_them(tiny):
    ran = smolprobe(image=tiny, memory=SMALLEST)
    assert ran.status == 1
    assert re.fullmatch(r"smolprobe: failed to read \w+.BIN; is there memory for it\?", ran.lines[-1])


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(("lazy", "transcript"), [(True, LAZY_TRANSCRIPT), (False, EAGER_TRANSCRIPT)])
def test_the_labs_transcripts(smollm2, lazy, transcript):
    options = ("--prompt-tokens", "1,2,3", "--gen-len", "10")
    ran = smolprobe(*options, image=smollm2, lazy=lazy, memory=RAM_BYTES_WITH_MODEL)
    assert (ran.status, ran.output) == (0, transcript)


@pytest.mark.model
@pytest.mark.slow
def test_the_labs_default_request(smollm2):
    ran = smolprobe(image=smollm2, memory=RAM_BYTES_WITH_MODEL)
    assert ran.numbers("request") == {"prompt_tokens": 5, "gen_tokens": 1}
    assert ran.numbers("decode_phase") == {"mapped_pages": 119, "used_pages": 125, "active_pages_est": 60}


REAL_REQUESTS = [(3, 10, 0), (3, 10, 3088), (1, 6, 0), (10, 7, 4080)]


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(("prompt", "generate", "offset"), REAL_REQUESTS)
def test_pages_of_the_real_model(smollm2, prompt, generate, offset):
    ran = smolprobe(*request(prompt, generate, offset), image=smollm2, memory=RAM_BYTES_WITH_MODEL)
    decoded, steps = ran.numbers("decode_phase"), prompt + generate - 1
    assert decoded["mapped_pages"] == new_pages(SMOLLM2_135M, offset, steps)
    tables = {new_tables(SMOLLM2_135M, offset, 64 * 512 + page, steps) for page in range(300, 460)}
    assert tables == {decoded["used_pages"] - decoded["mapped_pages"]}
