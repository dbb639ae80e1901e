"""The real SmolLM2-135M: its conversion, its words and its tokens."""

import numpy as np
import pytest

from nexemu.model.assets import layer_size
from nexemu.model.tok_file import read_tok
from nexemu.model.tokenizer import Tokenizer
from nexemu.model.vocabulary import NO_TOKEN, from_gguf

pytestmark = [pytest.mark.model, pytest.mark.slow]

# What llama.cpp chooses greedily, too.
CONTINUATIONS = [
    ([504, 3575, 282, 4649, 314], [7042, 30, 198, 198, 504]),
    ([1, 2, 3], [79, 100, 43405, 198, 198]),
    ([19556, 5], [198, 1, 520, 9531, 198]),
]
CLEAR_GAP = 0.3
"""Where the best logit leads by more, every faithful implementation chooses the same token."""


@pytest.mark.parametrize(("prompt", "expected"), CONTINUATIONS)
def test_the_float32_reference_continues_as_known(real_float32, prompt, expected):
    assert [step.token for step in real_float32.greedy(prompt, 5)] == expected


@pytest.mark.parametrize(("prompt", "expected"), CONTINUATIONS)
def test_int8_weights_agree_wherever_float32_is_clear(real_float32, real_int8, prompt, expected):
    gaps = [step.gap for step in real_float32.greedy(prompt, 5)]
    real_int8.position = 0
    chosen = [int(real_int8.forward(token).argmax()) for token in prompt + expected[:-1]]
    clear = [place for place, gap in enumerate(gaps) if gap > CLEAR_GAP]
    assert len(clear) >= 4
    for place in clear:
        assert chosen[len(prompt) - 1 + place] == expected[place]


def test_every_matrix_is_within_half_a_step_of_the_gguf(real_gguf, real_image):
    geometry = real_image.geometry
    for index in range(geometry.layers):
        exact = real_gguf.layer(index)
        norms, matrices = real_image.quantised_layer(index)
        assert (norms == [exact.input_norm, exact.post_norm]).all()
        for shape in geometry.matrices:
            assert_within_half_a_step(getattr(exact, shape.name), matrices[shape.name])


def assert_within_half_a_step(exact, matrix):
    off = np.abs(matrix.dequantise() - exact)
    assert (off <= matrix.scale[:, None] * (0.5 + 1e-4)).all()
    assert (np.abs(matrix.q).max(axis=1) == 127).all()


def test_the_embedding_is_within_half_a_step_of_the_gguf(real_gguf, real_image):
    exact, stored = real_gguf.embedding(), real_image.embedding()
    step = np.abs(exact).max(axis=1, keepdims=True) / 127
    assert (np.abs(exact - stored) <= step * (0.5 + 1e-4)).all()


def test_the_files_have_the_documents_sizes(real_image):
    sizes = {path.name: path.stat().st_size for path in real_image.folder.iterdir()}
    assert sizes["EMB.BIN"] == 28_508_160
    assert {sizes[f"L{index:02d}.BIN"] for index in range(30)} == {3_564_288}
    assert layer_size(real_image.geometry) == 3_564_288
    assert (sizes["CFG.BIN"], sizes["NRM.BIN"], sizes["ROP.BIN"]) == (48, 2304, 65_536)
    assert (sizes["PMT.BIN"], sizes["EXP.BIN"]) == (24, 8)


def test_the_default_request_is_the_capital_of_france(real_image):
    assert real_image.ids("PMT.BIN") == [504, 3575, 282, 4649, 314]
    assert real_image.ids("EXP.BIN") == [7042]
    assert (real_image.folder / "PROMPT.TXT").read_text().startswith("prompt_text=The capital of France is\n")
    assert (real_image.folder / "EXPECT.TXT").read_text() == "expect_text= Paris\nexpect_tokens=7042\n"


@pytest.fixture(scope="module")
def tokenizer(real_image):
    return Tokenizer(read_tok(real_image.folder / "TOK.BIN"))


def test_the_vocabulary_is_the_ggufs(real_gguf, tokenizer):
    assert tokenizer.vocabulary == from_gguf(real_gguf)
    assert len(tokenizer.vocabulary.tokens) == 49_152
    assert len(tokenizer.vocabulary.merges) == 48_900
    assert tokenizer.vocabulary.control == set(range(17))
    assert tokenizer.vocabulary.byte_tokens().count(NO_TOKEN) == 21


# As the tokenizer that the model was trained with has them.
KNOWN_TEXTS = [
    ("The capital of France is", "504 3575 282 4649 314"),
    (" Paris.\n\nThe", "7042 30 198 198 504"),
    (
        "I've 12 apples, they'll cost $3.50!!  \n\n\tok",
        "57 3543 216 33 34 13855 28 502 3060 1708 1885 35 30 37 32 10095 256 1116 197 2231",
    ),
    ("  ", "256"),
    (" \n x", "3717 1792"),
    ("a  5  b", "81 256 37 216 278"),
    ("''s 's't 'S", "3816 99 637 99 982 637 67"),
    ("<|im_start|>user\nhi<|im_end|>\n", "1 4093 198 6004 2 198"),
    ("x<|im_start|><|im_end|>y", "104 1 2 105"),
    (
        "你好世界 naïve café 😀👍🏽 ½ ²³ ٣٤ Ⅷ",
        (
            "18645 250 48392 138 7906 240 178 239 230 15486 46494 37366 40303 218 10813 235 231 10813 233 "
            "138 216 16738 216 19133 39050 216 164 113 164 114 216 173 223 117"
        ),
    ),
    ("a\xa0b\u2003c\u3000d\x1c\x1de\x85f", "81 15442 82 321 221 83 12109 218 84 213 85 141 223 86"),
    ("don't we're I'm he'd she'll 've", "12420 982 392 2316 339 5248 384 6737 1041 3060 637 307"),
    ("!!! ??? ...", "29646 9148 16693 4563"),
    ("tab\there\r\nnew", "15999 197 1531 201 198 2241"),
    ("e\u0301 combining", "85 151 219 9301"),
    ("   leading", "256 2899"),
    ("trailing   ", "4861 4966 333"),
    ("1 2  3   4", "33 216 34 256 35 333 36"),
    ("- 5 -6", "29 216 37 731 38"),
]


@pytest.mark.parametrize(("text", "ids"), KNOWN_TEXTS)
def test_known_texts(tokenizer, text, ids):
    assert tokenizer.encode(text) == [int(token) for token in ids.split()]


@pytest.mark.parametrize("text", [text for text, _ in KNOWN_TEXTS if "\x1d" not in text])
def test_texts_come_back(tokenizer, text):
    assert tokenizer.text(tokenizer.encode(text)) == text
