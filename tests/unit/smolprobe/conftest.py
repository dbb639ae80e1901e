"""What smolprobe's tests share: the guests, a small model, the real one, and smolprobe's parts alone."""

import sys
from pathlib import Path

import numpy as np
import pytest

from nexemu.model import cache
from nexemu.model.image import write_request
from nexemu.model.synthetic import numbered_vocabulary, write_noise
from nexemu.model.tokenizer import Tokenizer

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "guest")]

from smolprobe_machine import EXPECT, GUESTS, PROMPT, TINY, run_guest  # noqa: E402

from build import find_toolchain, library_jobs, make, make_all, program_job  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def guests():
    if not (GUESTS / "smolprobe").exists():
        pytest.skip("the guests are not compiled: run `make guests`")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """An image of noise, with a tokenizer of bytes."""
    folder = tmp_path_factory.mktemp("tiny")
    write_noise(folder, TINY, np.random.default_rng(7), lambda: None)
    write_request(folder, Tokenizer(numbered_vocabulary(TINY.vocab)), PROMPT, EXPECT)
    return folder


@pytest.fixture(scope="session")
def smollm2():
    """The real model's image."""
    folder = cache.ready("smollm2")
    if folder is None:
        pytest.skip("SmolLM2 is not in the cache: run `nexemu model fetch`")
    return folder


@pytest.fixture(scope="session")
def compile_guest(tmp_path_factory):
    """Compile one more guest program; the folder that holds it."""

    def compile_guest(source: Path) -> Path:
        out = tmp_path_factory.mktemp(source.stem)
        (out / "nexos").mkdir()
        toolchain = find_toolchain()
        make_all(library_jobs("nexos"), toolchain, {}, lambda _: None)
        make(program_job("nexos", source.stem, source, out), toolchain)
        return out / "nexos"

    return compile_guest


@pytest.fixture(scope="session")
def pieces(compile_guest):
    """The folder of smolprobe's parts as a program, see pieces.c."""
    return compile_guest(Path(__file__).with_name("pieces.c"))


@pytest.fixture
def run_piece(pieces, tmp_path):
    """Run one part on the bytes of its input file, with ``folder``'s files at hand; its output file."""

    def run(part: str, data: bytes, *folders: Path) -> bytes:
        (tmp_path / "IN").write_bytes(data)
        ran = run_guest([b"pieces", part.encode()], pieces, tmp_path, *folders)
        assert ran.status == 0, ran.output
        return ran.file(b"/OUT")

    return run
