"""What the tests of smolsample and smolbeam share: the guests, a small model, the real one."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from nexemu.model.cache import ready
from nexemu.model.image import write_request
from nexemu.model.synthetic import numbered_vocabulary, write_noise
from nexemu.model.tokenizer import Tokenizer

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "guest")]

from smolprobe_machine import GUESTS, TINY  # noqa: E402
from smolsample_machine import run  # noqa: E402

from build import find_toolchain, library_jobs, make, make_all, program_job  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def guests():
    if not (GUESTS / "smolsample").exists():
        pytest.skip("the guests are not compiled: run `make guests`")


@pytest.fixture(scope="session")
def make_image(tmp_path_factory):
    """Images of noise, with a tokenizer of bytes."""

    def make_image(geometry):
        folder = tmp_path_factory.mktemp("noise")
        write_noise(folder, geometry, np.random.default_rng(7), lambda: None)
        write_request(folder, Tokenizer(numbered_vocabulary(geometry.vocab)), (1,), (2,))
        return folder

    return make_image


@pytest.fixture(scope="session")
def tiny(make_image):
    return make_image(TINY)


@pytest.fixture(scope="session")
def smollm2():
    """The real model's image."""
    folder = ready("smollm2")
    if folder is None:
        pytest.skip("SmolLM2 is not in the cache: run `nexemu model fetch`")
    return folder


@pytest.fixture(scope="session")
def compile_piece(tmp_path_factory):
    """The folder with a program that is compiled from a C file beside the tests."""

    @cache
    def compile_piece(name):
        source = Path(__file__).with_name(f"{name}.c")
        out = tmp_path_factory.mktemp(name)
        (out / "nexos").mkdir()
        toolchain = find_toolchain()
        make_all(library_jobs("nexos"), toolchain, {}, lambda _: None)
        make(program_job("nexos", name, source, out), toolchain)
        return out / "nexos"

    return compile_piece


@pytest.fixture
def run_piece(compile_piece, tmp_path):
    """Run one part of such a program on the bytes of its input file; the run and its output file."""

    def run_piece(program, part, data):
        (tmp_path / "IN").write_bytes(data)
        ran = run(program, part, image=tmp_path, folders=[compile_piece(program)])
        assert ran.status == 0, ran.output
        return bytes(ran.kernel._file(b"/OUT"))

    return run_piece
