"""Text to token ids and back: the reference that the guest's tokenizer is compared with.

Byte-level BPE in three steps: control tokens are cut out of the text; what lies between is cut into
words by the classes of its code points (:func:`words`); in each word, as long as some neighbours
merge, the pair of the lowest rank does, the leftmost first.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from nexemu.model.charclass import CharClasses, contains
from nexemu.model.vocabulary import NO_TOKEN, Vocabulary

CONTRACTIONS: Final = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def words(text: str, classes: CharClasses) -> list[str]:
    """Cut ``text`` as SmolLM was trained: each number's digit alone, then GPT-2's words.

    GPT-2's pattern, tried in this order at each place: ``'s|'t|'re|'ve|'m|'ll|'d``, then an optional
    blank and a run of one class (letters; neither letter, number nor space), then spaces: a run of
    them, less the last one where a word follows that might take it.
    """
    kinds = [_kind(ord(character), classes) for character in text]
    found: list[str] = []
    start = 0
    while start < len(text):
        end = start + 1 if kinds[start] == "N" else _word_end(text, kinds, start)
        found.append(text[start:end])
        start = end
    return found


def _kind(point: int, classes: CharClasses) -> str:
    """L letter, N number, S space, O other."""
    if contains(classes.letters, point):
        return "L"
    if contains(classes.numbers, point):
        return "N"
    return "S" if contains(classes.spaces, point) else "O"


def _word_end(text: str, kinds: Sequence[str], start: int) -> int:
    """Where the word that begins at ``start``, which is no number, ends. Numbers end every word."""
    for contraction in CONTRACTIONS:
        if text.startswith(contraction, start):
            return start + len(contraction)
    first = start + 1 if text[start] == " " else start
    if first < len(text) and kinds[first] in "LO":
        return _run_end(kinds, first)
    end = _run_end(kinds, start)
    # GPT-2's \s+(?!\S): the last space is left to the next word, unless a number or the text's end
    # has already cut the run off.
    if end - start > 1 and end < len(text) and kinds[end] != "N":
        return end - 1
    return end


def _run_end(kinds: Sequence[str], start: int) -> int:
    end = start
    while end < len(kinds) and kinds[end] == kinds[start]:
        end += 1
    return end


class Tokenizer:
    """Encodes and decodes with one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._byte_tokens = vocabulary.byte_tokens()
        self._merges = {(m.left, m.right): (rank, m.merged) for rank, m in enumerate(vocabulary.merges)}
        self._control = {vocabulary.tokens[token].decode(): token for token in sorted(vocabulary.control)}

    def encode(self, text: str, control: bool = True) -> list[int]:
        """The token ids of ``text``; with ``control``, names such as <|im_start|> are those tokens.

        Bytes that the vocabulary does not have are left out, as llama.cpp leaves them out.
        """
        ids: list[int] = []
        for piece in self._pieces(text) if control else [text]:
            if control and piece in self._control:
                ids.append(self._control[piece])
            else:
                for word in words(piece, self.vocabulary.classes):
                    ids += self._merge(word.encode())
        return ids

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes that ``ids`` spell; they may begin or end within a character."""
        return b"".join(self.vocabulary.tokens[token] for token in ids)

    def text(self, ids: Sequence[int]) -> str:
        """What ``ids`` spell, with U+FFFD for bytes that are no UTF-8."""
        return self.decode(ids).decode(errors="replace")

    def _pieces(self, text: str) -> Iterator[str]:
        """``text`` cut before and after each name of a control token, the earliest and longest first."""
        start = 0
        for at in range(len(text)):
            names = [name for name in self._control if text.startswith(name, at)] if at >= start else []
            if names:
                longest = max(names, key=len)
                yield text[start:at]
                yield longest
                start = at + len(longest)
        yield text[start:]

    def _merge(self, word: bytes) -> list[int]:
        ids = [token for token in (self._byte_tokens[byte] for byte in word) if token != NO_TOKEN]
        while True:
            ranked = [
                (*self._merges[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in self._merges
            ]
            if not ranked:
                return ids
            _, merged, at = min(ranked)
            ids[at : at + 2] = [merged]
