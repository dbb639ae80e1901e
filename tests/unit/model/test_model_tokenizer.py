"""Byte-level BPE: classes of characters, words, merges, and TOK.BIN."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexemu.errors import OperatorError
from nexemu.model.charclass import CharClasses, contains, ranges_of, unicode_classes
from nexemu.model.gguf_file import GgufFile
from nexemu.model.tok_file import read_tok, tok_bytes
from nexemu.model.tokenizer import Tokenizer, words
from nexemu.model.vocabulary import (
    NO_TOKEN,
    Merge,
    Vocabulary,
    byte_characters,
    from_gguf,
    from_spelling,
    spelled_bytes,
)


def test_neighbouring_points_make_one_range():
    assert ranges_of([]) == ()
    assert ranges_of([3, 4, 5, 7, 9, 10]) == ((3, 5), (7, 7), (9, 10))


@pytest.mark.parametrize(
    ("point", "inside"), [(2, False), (3, True), (5, True), (6, False), (7, True), (8, False)]
)
def test_both_ends_of_a_range_belong_to_it(point, inside):
    assert contains(((3, 5), (7, 7)), point) is inside


@pytest.mark.parametrize(
    ("text", "letter", "number", "space"),
    [
        ("aZéЖ中한ªא", True, False, False),
        ("07²½Ⅷ٣", False, True, False),
        (" \t\n\r\x0b\x0c\x85\xa0\u1680\u2003\u2028\u3000", False, False, True),
        ("!_-'$\x00\x1c\x1f\u200b\u0301\ufeff😀", False, False, False),
    ],
)
def test_unicodes_classes(text, letter, number, space):
    classes = unicode_classes()
    for character in text:
        found = [
            contains(ranges, ord(character)) for ranges in (classes.letters, classes.numbers, classes.spaces)
        ]
        assert found == [letter, number, space], hex(ord(character))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The capital of France is", ["The", " capital", " of", " France", " is"]),
        ("12 345", ["1", "2", " ", "3", "4", "5"]),
        ("a  5", ["a", "  ", "5"]),
        ("a   b", ["a", "  ", " b"]),
        ("a\n\nb", ["a", "\n", "\n", "b"]),
        ("a\n b", ["a", "\n", " b"]),
        ("end  \n", ["end", "  \n"]),
        ("  ", ["  "]),
        (" ", [" "]),
        ("I've they'll it's 'S", ["I", "'ve", " they", "'ll", " it", "'s", " '", "S"]),
        ("'tis", ["'t", "is"]),
        ("x!!! ...y", ["x", "!!!", " ...", "y"]),
        ("a'b", ["a", "'", "b"]),
        ("q'r", ["q", "'", "r"]),
        ("x1y", ["x", "1", "y"]),
        ("½é́", ["½", "é", "\u0301"]),
        ("\u00a0a\u3000 b", ["\u00a0", "a", "\u3000", " b"]),
        ("a\x1cb", ["a", "\x1c", "b"]),
    ],
)
def test_words(text, expected):
    assert words(text, unicode_classes()) == expected


@given(st.text())
def test_words_are_all_of_the_text(text):
    assert "".join(words(text, unicode_classes())) == text


def test_gpt2s_spelling_of_bytes():
    characters = byte_characters()
    assert sorted(characters.values()) == list(range(256))
    assert [characters[c] for c in "!~¡ÿ"] == [0x21, 0x7E, 0xA1, 0xFF]
    assert [characters[c] for c in "ĀĊĠġŃ"] == [0x00, 0x0A, 0x20, 0x7F, 0xAD]
    assert spelled_bytes("ĠcafÃ©Ċ") == " café\n".encode()


@pytest.fixture
def vocabulary():
    """Bytes a, b, c, blank, and three merges: ab before bc before " ab"."""
    spellings = ["<|end|>", "a", "b", "c", "Ġ", "ab", "bc", "Ġab", "<|end"]
    return from_spelling(spellings, [3] + [1] * 8, ["a b", "b c", "Ġ ab"])


def test_a_vocabulary_knows_its_bytes(vocabulary):
    assert vocabulary.tokens == (b"<|end|>", b"a", b"b", b"c", b" ", b"ab", b"bc", b" ab", b"<|end")
    assert vocabulary.control == {0}
    assert vocabulary.merges == (Merge(1, 2, 5), Merge(2, 3, 6), Merge(4, 5, 7))
    known = {byte: token for byte, token in enumerate(vocabulary.byte_tokens()) if token != NO_TOKEN}
    assert known == {ord("a"): 1, ord("b"): 2, ord("c"): 3, ord(" "): 4}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("abc", [5, 3]),  # ab comes before bc
        ("bcbc", [6, 6]),
        ("abab", [5, 5]),
        ("bab", [2, 5]),
        (" abc", [7, 3]),
        ("a b", [1, 4, 2]),  # never across words
        ("azb", [5]),  # z has no token and is left out
        ("ab<|end|>ab", [5, 0, 5]),
        ("<|end|>", [0]),
        ("<|end|><|end|>", [0, 0]),
    ],
)
def test_the_lowest_rank_merges_first(vocabulary, text, ids):
    assert Tokenizer(vocabulary).encode(text) == ids


def test_names_of_control_tokens_may_be_taken_as_text(vocabulary):
    assert Tokenizer(vocabulary).encode("a<|end|>b", control=False) == [1, 2]


def test_the_longest_of_several_control_names_is_taken():
    vocabulary = from_spelling(["<a", "<a>", "x"], [3, 3, 1], [])
    assert Tokenizer(vocabulary).encode("x<a>x<ax") == [2, 1, 2, 0, 2]


def test_decoding_is_concatenation(vocabulary):
    tokenizer = Tokenizer(vocabulary)
    assert tokenizer.decode([0, 7, 3]) == b"<|end|> abc"
    assert tokenizer.text([]) == ""


def test_a_broken_character_is_shown_as_such():
    vocabulary = from_spelling(["Ã", "©"], [1, 1], [])
    assert Tokenizer(vocabulary).text([0, 1]) == "é"
    assert Tokenizer(vocabulary).text([0]) == "\N{REPLACEMENT CHARACTER}"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_text_survives_where_every_byte_has_a_token(text):
    spellings = [character for character, _ in sorted(byte_characters().items(), key=lambda item: item[1])]
    tokenizer = Tokenizer(from_spelling(spellings, [1] * 256, []))
    assert tokenizer.text(tokenizer.encode(text)) == text


def test_tok_bin_to_the_byte():
    classes = CharClasses(letters=((97, 122),), numbers=((48, 57), (178, 179)), spaces=())
    vocabulary = Vocabulary(
        (b"b", b"a", b"<s>", b"ab", b"bb"), frozenset({2}), (Merge(1, 0, 3), Merge(0, 0, 4)), classes
    )
    byte_token = [NO_TOKEN] * 256
    byte_token[97], byte_token[98] = 1, 0
    expected = b"TOK1" + struct.pack("<7I", 1, 5, 2, 1, 2, 0, 0)
    expected += struct.pack("<6I", 0, 1, 2, 5, 7, 9) + bytes([0, 0, 1, 0, 0, 0, 0, 0])
    expected += struct.pack("<256I", *byte_token)
    expected += struct.pack("<8I", 0, 0, 1, 4, 1, 0, 0, 3)  # sorted by (left, right); the rank is kept
    expected += struct.pack("<2I", 97, 122) + struct.pack("<4I", 48, 57, 178, 179)
    assert tok_bytes(vocabulary) == expected + b"ba<s>abbb"


def test_tok_bin_is_read_back(vocabulary, tmp_path):
    (tmp_path / "TOK.BIN").write_bytes(tok_bytes(vocabulary))
    assert read_tok(tmp_path / "TOK.BIN") == vocabulary


@pytest.mark.parametrize(
    "data", [b"TOK2" + bytes(28), struct.pack("<8I", 0x314B4F54, 2, 0, 0, 0, 0, 0, 0), b"TOK1"]
)
def test_another_file_is_refused(tmp_path, data):
    (tmp_path / "TOK.BIN").write_bytes(data)
    with pytest.raises(OperatorError, match=r"TOK\.BIN is not a version 1 tokenizer file"):
        read_tok(tmp_path / "TOK.BIN")


def test_a_gguf_files_vocabulary(tiny_gguf_path):
    vocabulary = from_gguf(GgufFile(tiny_gguf_path))
    assert len(vocabulary.tokens) == 300
    assert vocabulary.control == {0, 1, 2}
    assert vocabulary.tokens[3 + 0x41] == b"A"
    assert vocabulary.merges[0] == Merge(3 + 32, 3 + ord("a"), 259)
    assert Tokenizer(vocabulary).encode("<|im_end|> a") == [1, 259]


def test_another_kind_of_tokenizer_is_refused(tiny_gguf_path):
    class Other(GgufFile):
        def field(self, name):
            return "llama-bpe" if name == "tokenizer.ggml.pre" else super().field(name)

    with pytest.raises(OperatorError, match="wants the tokenizer"):
        from_gguf(Other(tiny_gguf_path))
