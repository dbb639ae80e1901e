"""The guest's tokenizer, on the machine, against the package's own."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from nexemu.model.charclass import unicode_classes
from nexemu.model.tok_file import read_tok, tok_bytes
from nexemu.model.tokenizer import Tokenizer, words
from nexemu.model.vocabulary import Merge, Vocabulary

MISSING = (0xC0, 0xC1, *range(0xF5, 0x100))
"""Bytes that no UTF-8 text has; SmolLM2's vocabulary lacks them too."""

CONTROL = (b"<|im_start|>", b"<|im|>", b"<|im_start|>more")

TEXTS = [
    "The capital of France is",
    " leading and trailing ",
    "it's they're I've I'm we'll he'd isn't 'Tis 's",
    "2024-01-31, 3.14159 and x1y22z333",
    "a  b   c\t\td\n\n\ne \n f  7   8",
    "  ",
    "\n",
    "   1",
    "中文分词，没有空格。日本語テキスト、한국어 텍스트",  # noqa: RUF001
    "naïve café Ångström привет мир שלום עולם",
    "😀👩‍👩‍👧‍👦 ok 🇨🇳!!! …—“quotes”",
    "²³ Ⅻ ½ ٣٤ 五",
    "\u00a0\u3000wide\u2003spaces\u3000\u3000end\u3000",
    "a\u0301bc \u200d\ufeff\x00"[:-1],
    "def f(x):\n    return x ** 2  # squares\n",
    "<|im_start|>user\nhi<|im_start|>more<|im|><|im<|im_start|",
    "'",
    "'s's 's",
    "!!!a 'l l'l 'll",
    "x" * 300,
    "\U0010ffff\ud7ff\ue000",
]


def learn_merges(corpus, count):
    """Byte-pair encoding as it was invented: what stands side by side most often becomes a token."""
    tokens = [bytes([byte]) for byte in range(256) if byte not in MISSING]
    ids = {text: token for token, text in enumerate(tokens)}
    split = [[ids[word[i : i + 1]] for i in range(len(word))] for word in corpus]
    merges = []
    while len(merges) < count:
        pairs = Counter(pair for word in split for pair in pairwise(word))
        left, right = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(Merge(left, right, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
        split = [merged(word, merges[-1]) for word in split]
    return tokens, merges


def merged(word, merge):
    joined = []
    for token in word:
        if joined and (joined[-1], token) == (merge.left, merge.right):
            joined[-1] = merge.merged
        else:
            joined.append(token)
    return joined


@pytest.fixture(scope="module")
def vocabulary():
    classes = unicode_classes()
    corpus = [word.encode() for text in TEXTS for word in words(text, classes)]
    tokens, merges = learn_merges(corpus, 150)
    control = frozenset(range(len(tokens), len(tokens) + len(CONTROL)))
    return Vocabulary((*tokens, *CONTROL), control, tuple(merges), classes)


@pytest.fixture
def encode(run_piece, tmp_path):
    """The guest's ids of each text, which is bytes without NUL."""

    def encode(vocabulary, texts):
        folder = tmp_path / "tok"
        folder.mkdir()
        (folder / "TOK.BIN").write_bytes(tok_bytes(vocabulary))
        numbers = np.frombuffer(run_piece("encode", b"\0".join([*texts, b""]), folder), "<u4").tolist()
        found = []
        while numbers:
            count, *numbers = numbers
            found.append(numbers[:count])
            numbers = numbers[count:]
        return found

    return encode


def random_texts(seed, count):
    """Texts of characters that pre-tokenizers trip over."""
    alphabet = "ab'strevmld  \t\n09²½é中😀.,!_\u00a0\u3000\u0301\u2028\r\x0b\x85\x1c<|im_start|>"
    source = random.Random(seed)
    return ["".join(source.choices(alphabet, k=source.randrange(1, 30))) for _ in range(count)]


def test_texts_of_all_kinds(encode, vocabulary):
    texts = [*TEXTS, *random_texts(1, 600)]
    expected = [Tokenizer(vocabulary).encode(text) for text in texts]
    assert encode(vocabulary, [text.encode() for text in texts]) == expected
    assert any(token in vocabulary.control for ids in expected for token in ids)


def test_bytes_that_are_no_utf8_are_kept(encode, vocabulary):
    source = random.Random(2)
    known = [byte for byte in range(1, 256) if byte not in MISSING]
    texts = [bytes(source.choices(known, k=source.randrange(1, 40))) for _ in range(200)]
    texts += [
        b"\xe4\xb8",
        b"ab\x80cd",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98",
        b"\xe0\x80\x80x",
        b"\xf4\x90\x80\x80",
    ]
    found = encode(vocabulary, texts)
    assert [Tokenizer(vocabulary).decode(ids) for ids in found] == texts


def test_bytes_that_the_vocabulary_lacks_are_left_out(encode, vocabulary):
    (found,) = encode(vocabulary, [b"a\xffb\xc0c"])
    assert Tokenizer(vocabulary).decode(found) == b"abc"


def test_a_byte_that_begins_no_character_parts_words(encode, vocabulary):
    (found,) = encode(vocabulary, [b"is\x80is\x80"])
    assert [Tokenizer(vocabulary).decode([token]) for token in found] == [b"is", b"\x80", b"is", b"\x80"]


@pytest.mark.model
@pytest.mark.slow
def test_the_real_vocabulary(encode, smollm2):
    vocabulary = read_tok(smollm2 / "TOK.BIN")
    texts = [*TEXTS, *random_texts(3, 100)]
    expected = [Tokenizer(vocabulary).encode(text) for text in texts]
    assert encode(vocabulary, [text.encode() for text in texts]) == expected
