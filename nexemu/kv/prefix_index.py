"""What full blocks hold: the index through which a new prompt finds blocks that were computed before.

The keys and values of a token depend on every token before it. So what a block holds has a name: its
own tokens, and in front of them the number that stands for all blocks before it. The index hashes
such names, each of which chains to the one before, and compares the tokens themselves: two
prompts whose hashes collide never share a block.

Owns the names and their numbers. Invariant: a content is known while at least one block holds it,
and so are all contents before it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from nexemu.errors import panic

Content: TypeAlias = int
"""A number for the tokens of one block and everything before them. It is not used twice."""

START: Final[Content] = 0
"""What comes before the first block: nothing. In other namespaces a negative number stands for it."""


class PrefixIndex:
    """Contents by their names, and by the blocks that hold them.

    All in numbers and tuples of numbers: Python's garbage collector has nothing to follow here, which
    halves the time that a full block takes.
    """

    __slots__ = ("_blocks", "_contents", "_last", "_names", "_roots")

    def __init__(self) -> None:
        self._last = START
        self._roots = {"": START}
        self._contents: dict[tuple[int, ...], Content] = {}  # by name: (before, token, token, ...)
        self._names: dict[int, tuple[int, ...]] = {}  # by block
        self._blocks: dict[Content, tuple[int, ...]] = {}  # all that hold it, the newest last

    def root(self, namespace: str) -> Content:
        """What comes before the first block in ``namespace``; no two have a content in common."""
        return self._roots.setdefault(namespace, -len(self._roots))

    def find(self, before: Content, tokens: Sequence[int]) -> Content | None:
        """The content of ``tokens`` after ``before``, if some block holds it."""
        return self._contents.get((before, *tokens))

    def block(self, content: Content) -> int:
        """The block that the next sequence shares."""
        return self._blocks[content][-1]

    def add(self, block: int, before: Content, tokens: Sequence[int]) -> Content:
        """``block``, of which nothing is known, now holds ``tokens`` after ``before``."""
        if block in self._names:
            panic(f"add: it is known already what block {block} holds")
        name = self._names[block] = (before, *tokens)
        content = self._contents.get(name)
        if content is None:
            content = self._last = self._contents[name] = self._last + 1
            self._blocks[content] = (block,)
        else:  # two sequences have computed the same at the same time
            self._blocks[content] += (block,)
        return content

    def forget(self, block: int) -> None:
        """``block`` is about to hold something else."""
        name = self._names.pop(block, None)
        if name is None:
            return
        content = self._contents[name]
        others = tuple(other for other in self._blocks[content] if other != block)
        if others:
            self._blocks[content] = others
        else:
            del self._blocks[content], self._contents[name]

    def known_blocks(self) -> Iterable[int]:
        """All blocks of which it is known what they hold."""
        return self._names.keys()

    def tokens_in(self, block: int) -> Sequence[int] | None:
        """The tokens that ``block`` holds, None when they are not known."""
        name = self._names.get(block)
        return None if name is None else name[1:]

    def audit(self) -> None:
        """Panic unless names, blocks and chains agree."""
        if sorted(self._contents.values()) != sorted(self._blocks):
            panic("audit: there are contents without a name, or without blocks")
        for name, content in self._contents.items():
            if name[0] > START and name[0] not in self._blocks:
                panic(f"audit: nothing holds what comes before {name[1:]}")
            if any(self._names.get(block) != name for block in self._blocks[content]):
                panic(f"audit: a block of {name[1:]} is known by another name")
        if sum(map(len, self._blocks.values())) != len(self._names):
            panic("audit: a block is named that holds nothing")
