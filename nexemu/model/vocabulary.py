"""A byte-level BPE vocabulary: what each token id spells, and which pairs merge into what.

GPT-2 stores bytes as printable characters: 188 of the 256 bytes stand for themselves, the others
are moved to U+0100 and up in their order. That is undone here; from here on a token is bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from nexemu.errors import OperatorError
from nexemu.model.charclass import CharClasses, unicode_classes
from nexemu.model.gguf_file import GgufFile

NO_TOKEN: Final = 0xFFFF_FFFF
CONTROL: Final = 3  # llama.cpp's LLAMA_TOKEN_TYPE_CONTROL


class Merge(NamedTuple):
    """The tokens ``left`` and ``right``, side by side, become ``merged``."""

    left: int
    right: int
    merged: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """``merges`` stand in the order of their rank: the first one is done first."""

    tokens: tuple[bytes, ...]
    control: frozenset[int]
    merges: tuple[Merge, ...]
    classes: CharClasses

    def byte_tokens(self) -> tuple[int, ...]:
        """For each byte the id of the token that spells it alone, or NO_TOKEN."""
        ids = {
            text: token
            for token, text in enumerate(self.tokens)
            if len(text) == 1 and token not in self.control
        }
        return tuple(ids.get(bytes([byte]), NO_TOKEN) for byte in range(256))


@cache
def byte_characters() -> dict[str, int]:
    """GPT-2's printable character for each byte, as a mapping from the character to the byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = sorted(set(range(256)) - set(plain))
    characters = {chr(byte): byte for byte in plain}
    characters.update({chr(0x100 + place): byte for place, byte in enumerate(moved)})
    return characters


def spelled_bytes(text: str) -> bytes:
    """GPT-2's spelling of a token, back in bytes."""
    characters = byte_characters()
    return bytes(characters[character] for character in text)


def from_spelling(spellings: Sequence[str], kinds: Sequence[int], merges: Sequence[str]) -> Vocabulary:
    """A vocabulary as GGUF files hold it: GPT-2 spellings, llama.cpp's token types, "left right" pairs."""
    ids = {text: token for token, text in enumerate(spellings)}
    control = frozenset(token for token, kind in enumerate(kinds) if kind == CONTROL)
    tokens = tuple(
        text.encode() if token in control else spelled_bytes(text) for token, text in enumerate(spellings)
    )
    pairs = (merge.split(" ") for merge in merges)
    ranked = tuple(Merge(ids[left], ids[right], ids[left + right]) for left, right in pairs)
    return Vocabulary(tokens, control, ranked, unicode_classes())


def from_gguf(gguf: GgufFile) -> Vocabulary:
    """The vocabulary of a GGUF file; only SmolLM's kind of tokenizer is known here."""
    kind = (gguf.field("tokenizer.ggml.model"), gguf.field("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise OperatorError(f"the GGUF file wants the tokenizer {kind}; only ('gpt2', 'smollm') is known")
    return from_spelling(
        gguf.field("tokenizer.ggml.tokens"),
        gguf.field("tokenizer.ggml.token_type"),
        gguf.field("tokenizer.ggml.merges"),
    )
