"""A whole conversion and a whole synthetic image, on a tiny model."""

import numpy as np
import pytest

from nexemu.model.assets import AssetFolder, layer_size
from nexemu.model.cache import is_complete
from nexemu.model.convert import convert
from nexemu.model.gguf_file import GgufFile
from nexemu.model.image import read_info
from nexemu.model.reference import Reference
from nexemu.model.synthetic import make_synthetic, numbered_vocabulary
from nexemu.model.tok_file import read_tok
from nexemu.model.tokenizer import Tokenizer
from nexemu.model.vocabulary import from_gguf
from nexemu.model.weights import quantise_rows

PROMPT = [5, 9, 77]


@pytest.fixture
def converted(tiny_gguf_path, tmp_path, monkeypatch):
    monkeypatch.setattr("nexemu.model.convert.DEFAULT_PROMPT", PROMPT)
    monkeypatch.setattr("nexemu.model.convert.EXPECTED", [298])
    gguf = GgufFile(tiny_gguf_path)
    steps = []
    convert(gguf, tmp_path, {"model": "tiny", "licence": "none"}, lambda: steps.append(1))
    assert len(steps) == 3
    return gguf, tmp_path


def test_a_converted_image_is_complete_and_labelled(converted):
    _, folder = converted
    assert is_complete(folder)
    assert read_info(folder) == {"image": "1", "model": "tiny", "licence": "none"}


def test_every_matrix_is_the_ggufs_up_to_half_a_step(converted, tiny):
    gguf, folder = converted
    image = AssetFolder(folder)
    for index in range(tiny.layers):
        exact, stored = gguf.layer(index), image.layer(index)
        assert (stored.input_norm == exact.input_norm).all()
        assert (stored.post_norm == exact.post_norm).all()
        for shape in tiny.matrices:
            one, other = getattr(exact, shape.name), getattr(stored, shape.name)
            step = np.abs(one).max(axis=1, keepdims=True) / 127
            assert (np.abs(one - other) <= step * 0.5001).all()
    assert (image.final_norm() == gguf.final_norm()).all()
    assert (image.embedding() == quantise_rows(gguf.embedding()).dequantise()).all()


def test_the_prompt_and_what_follows_are_there_for_guests_and_for_people(converted):
    _, folder = converted
    assert AssetFolder(folder).ids("PMT.BIN") == PROMPT
    assert AssetFolder(folder).ids("EXP.BIN") == [298]
    assert (folder / "EXPECT.TXT").read_text() == "expect_text= N\nexpect_tokens=298\n"
    assert (folder / "PROMPT.TXT").read_text().endswith("prompt_tokens=5,9,77\n")


def test_the_vocabulary_is_the_ggufs(converted):
    gguf, folder = converted
    assert read_tok(folder / "TOK.BIN") == from_gguf(gguf)


def test_the_converted_model_says_nearly_what_the_gguf_says(converted):
    gguf, folder = converted
    exact, stored = Reference(gguf), Reference(AssetFolder(folder))
    for token in PROMPT:
        one, other = exact.forward(token), stored.forward(token)
        assert np.abs(one - other).max() < 0.05 * np.abs(one).max()


@pytest.fixture
def synthetic(tiny, tmp_path):
    make_synthetic(tmp_path, lambda: None, tiny)
    return tmp_path


def test_a_synthetic_image_is_complete_and_has_the_same_sizes(synthetic, tiny):
    assert is_complete(synthetic)
    sizes = {path.name: path.stat().st_size for path in synthetic.iterdir()}
    assert sizes["L00.BIN"] == sizes["L01.BIN"] == layer_size(tiny)
    assert sizes["EMB.BIN"] == 300 * 68
    assert sizes["NRM.BIN"] == 256
    assert sizes["ROP.BIN"] == 256 * 2 * 8 * 4
    assert read_info(synthetic)["source"] == "seed 135"


def test_a_synthetic_image_expects_what_its_noise_says(synthetic):
    image = AssetFolder(synthetic)
    prompt = image.ids("PMT.BIN")
    assert prompt == [504 % 300, 3575 % 300, 282, 4649 % 300, 314 % 300]
    assert [step.token for step in Reference(image).greedy(prompt, 1)] == image.ids("EXP.BIN")


def test_the_same_seed_gives_the_same_noise(synthetic, tiny, tmp_path_factory):
    again = tmp_path_factory.mktemp("again")
    make_synthetic(again, lambda: None, tiny)
    for path in synthetic.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_noise_keeps_the_size_of_activations(synthetic, tiny):
    layer = AssetFolder(synthetic).layer(0)
    for shape in tiny.matrices:
        deviation = getattr(layer, shape.name).std() * shape.cols**0.5
        assert 0.97 < deviation < 1.03


def test_the_numbered_vocabulary_spells_bytes_and_numbers():
    tokenizer = Tokenizer(numbered_vocabulary(300))
    assert tokenizer.encode("hé 1") == [104, 0xC3, 0xA9, 32, 49]
    assert tokenizer.decode([104, 299, 0xC3, 0xA9]) == b"h<299>\xc3\xa9"
