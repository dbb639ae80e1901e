"""What the tests of smolsample and smolbeam share: a small model, and the programs' parts alone."""

from pathlib import Path

import numpy as np
import pytest
from smolprobe_machine import TINY
from smolsample_machine import run

from nexemu.model.image import write_request
from nexemu.model.synthetic import numbered_vocabulary, write_noise
from nexemu.model.tokenizer import Tokenizer


@pytest.fixture(scope="session", autouse=True)
def compiled(guests):
    """Every test here runs a guest."""


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


@pytest.fixture
def run_piece(compile_guest, tmp_path):
    """Run one part of a program that is compiled from a C file beside the tests on the bytes of its input
    file; its output file."""

    def run_piece(program, part, data):
        (tmp_path / "IN").write_bytes(data)
        folder = compile_guest(Path(__file__).with_name(f"{program}.c"))
        ran = run(program, part, image=tmp_path, folders=[folder])
        assert ran.status == 0, ran.output
        return bytes(ran.kernel._file(b"/OUT"))

    return run_piece
