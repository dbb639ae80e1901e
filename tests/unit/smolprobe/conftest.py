"""What smolprobe's tests share: a small model, and smolprobe's parts alone."""

from pathlib import Path

import numpy as np
import pytest
from smolprobe_machine import EXPECT, PROMPT, TINY, run_guest

from nexemu.model.image import write_request
from nexemu.model.synthetic import numbered_vocabulary, write_noise
from nexemu.model.tokenizer import Tokenizer


@pytest.fixture(scope="session", autouse=True)
def compiled(guests):
    """Every test here runs a guest."""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """An image of noise, with a tokenizer of bytes."""
    folder = tmp_path_factory.mktemp("tiny")
    write_noise(folder, TINY, np.random.default_rng(7), lambda: None)
    write_request(folder, Tokenizer(numbered_vocabulary(TINY.vocab)), PROMPT, EXPECT)
    return folder


@pytest.fixture
def run_piece(compile_guest, tmp_path):
    """Run one of smolprobe's parts, see pieces.c, on the bytes of its input file, with ``folder``'s files at
    hand; its output file."""

    def run(part: str, data: bytes, *folders: Path) -> bytes:
        (tmp_path / "IN").write_bytes(data)
        pieces = compile_guest(Path(__file__).with_name("pieces.c"))
        ran = run_guest([b"pieces", part.encode()], pieces, tmp_path, *folders)
        assert ran.status == 0, ran.output
        return ran.file(b"/OUT")

    return run
