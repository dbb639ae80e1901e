"""A sequence's page table: its tokens, contiguous for the model, over blocks that are not.

A :class:`BlockTable` holds one reference for each of its entries. It has as many entries as its
tokens need; only the last block can be partly filled.

xv6: kernel/vm.c, a page table; here one level is enough, because tokens have no holes
"""

from collections.abc import Sequence
from typing import NamedTuple

from nexemu.errors import OutOfMemory, panic
from nexemu.kv.pool import BlockPool
from nexemu.kv.prefix_index import START, Content


class Place(NamedTuple):
    """Where a token's keys and values are: the physical address of KV memory."""

    block: int
    slot: int


class Copy(NamedTuple):
    """What block ``source`` holds must be in block ``target`` before anything else is written."""

    source: int
    target: int


def nth_block(tokens: Sequence[int], number: int, block_tokens: int) -> Sequence[int]:
    """The tokens of logical block ``number``."""
    return tokens[number * block_tokens : (number + 1) * block_tokens]


class BlockTable:
    """Logical block i is physical block ``blocks[i]``. ``root`` is what comes before the first block,
    ``content`` what the last full one holds."""

    __slots__ = ("block_tokens", "blocks", "content", "root", "tokens")

    def __init__(
        self, block_tokens: int, tokens: list[int], blocks: list[int], root: Content = START
    ) -> None:
        self.block_tokens = block_tokens
        self.tokens = tokens
        self.blocks = blocks
        self.root = self.content = root

    def translate(self, position: int) -> Place:
        """Where the token at ``position`` is."""
        if not 0 <= position < len(self.tokens):
            panic(f"translate: there is no token {position}")
        return Place(self.blocks[position // self.block_tokens], position % self.block_tokens)

    def tokens_of(self, number: int) -> Sequence[int]:
        """The tokens in logical block ``number``."""
        return nth_block(self.tokens, number, self.block_tokens)

    def copy(self) -> "BlockTable":
        """A table of the same blocks. The caller sees to their counts."""
        table = BlockTable(self.block_tokens, self.tokens.copy(), self.blocks.copy(), self.root)
        table.content = self.content
        return table

    def release(self, pool: BlockPool) -> None:
        """Free all blocks, from the last to the first: the start of a prompt is of use for longest."""
        for block in reversed(self.blocks):
            pool.kfree(block)
        self.blocks = []

    def move(self, source: BlockPool, target: BlockPool) -> list[Copy]:
        """Take blocks of ``target`` in exchange for those of ``source``; the result is what to copy.
        Raises OutOfMemory, and then nothing has changed."""
        if len(self.blocks) > target.free_blocks:
            raise OutOfMemory(f"swap: no room for {len(self.blocks)} blocks")
        moved = [Copy(block, target.kalloc()) for block in self.blocks]
        self.release(source)
        self.blocks = [copy.target for copy in moved]
        return moved
