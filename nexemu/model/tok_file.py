"""TOK.BIN: everything that a guest needs to go from text to token ids and back.

All little-endian, u32 unless said:

| field            | size                | content                                                    |
| ---------------- | ------------------- | ---------------------------------------------------------- |
| header           | 8                   | magic "TOK1", version 1, vocab, merges, letter ranges,     |
|                  |                     | number ranges, space ranges, 0                             |
| offset           | vocab + 1           | token t is blob[offset[t]:offset[t + 1]]                   |
| kind             | u8 [vocab]          | 0 normal, 1 control; zeros up to a multiple of 4           |
| byte_token       | 256                 | the token of each single byte, 0xFFFFFFFF where none       |
| merge            | merges x 4          | left, right, rank, merged; sorted by (left, right)         |
| letters          | n x 2               | first and last code point, sorted; then numbers, spaces    |
| blob             | u8 [offset[vocab]]  | the bytes of each token; a control token's are its name    |
"""

import struct
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nexemu.errors import OperatorError
from nexemu.model.charclass import CharClasses, Range
from nexemu.model.vocabulary import Merge, Vocabulary

MAGIC: Final = 0x314B4F54  # "TOK1"
VERSION: Final = 1
HEADER: Final = struct.Struct("<8I")
U32: Final = np.dtype("<u4")


def tok_bytes(vocabulary: Vocabulary) -> bytes:
    """TOK.BIN of ``vocabulary``."""
    tokens, merges, classes = vocabulary.tokens, vocabulary.merges, vocabulary.classes
    ranges = (classes.letters, classes.numbers, classes.spaces)
    kind = bytes(token in vocabulary.control for token in range(len(tokens)))
    rows = sorted((m.left, m.right, rank, m.merged) for rank, m in enumerate(merges))
    return b"".join(
        (
            HEADER.pack(MAGIC, VERSION, len(tokens), len(merges), *map(len, ranges), 0),
            _u32(np.cumsum([0, *map(len, tokens)])),
            kind + bytes(-len(kind) % 4),
            _u32(np.array(vocabulary.byte_tokens())),
            _u32(np.array(rows)),
            *(_u32(np.array(one)) for one in ranges),
            *tokens,
        )
    )


def read_tok(path: Path) -> Vocabulary:
    """A TOK.BIN read back."""
    data = path.read_bytes()
    if data[:8] != struct.pack("<2I", MAGIC, VERSION) or len(data) < HEADER.size:
        raise OperatorError(f"{path} is not a version {VERSION} tokenizer file")
    reader = _Reader(data)
    vocab, merges, letters, numbers, spaces = reader.u32(8)[2:7].tolist()
    offset = reader.u32(vocab + 1).tolist()
    kind = reader.take(vocab + -vocab % 4)
    reader.u32(256)
    rows = reader.u32(4 * merges).reshape(merges, 4)
    ranked = rows[np.argsort(rows[:, 2])].tolist()
    classes = CharClasses(reader.ranges(letters), reader.ranges(numbers), reader.ranges(spaces))
    blob = reader.take(offset[-1])
    return Vocabulary(
        tokens=tuple(blob[offset[t] : offset[t + 1]] for t in range(vocab)),
        control=frozenset(t for t in range(vocab) if kind[t]),
        merges=tuple(Merge(left, right, merged) for left, right, _, merged in ranked),
        classes=classes,
    )


class _Reader:
    """Takes fields off the front of a file's bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def u32(self, count: int) -> NDArray[np.uint32]:
        return np.frombuffer(self.take(4 * count), U32)

    def ranges(self, count: int) -> tuple[Range, ...]:
        return tuple((first, last) for first, last in self.u32(2 * count).reshape(count, 2).tolist())


def _u32(values: NDArray[np.int64]) -> bytes:
    return values.astype(U32).tobytes()
