"""What full blocks hold: the index through which a new prompt finds blocks that were computed before.

The keys and values of a token depend on every token before it. So what a block holds is named by its
own tokens and by what the block before it holds: a :class:`Content`, the end of a chain that leads
back to the first block. The index hashes such a name and compares the tokens themselves, so two
prompts whose hashes collide never share a block.

Owns the names. Invariant: a content is known while at least one block holds it, and so are all
contents before it.
"""

from typing import TypeAlias

from nexemu.errors import panic

Tokens: TypeAlias = tuple[int, ...]


class Content:
    """``tokens`` after everything that ``before`` stands for. ``blocks`` all hold just this, the newest
    last: two sequences may compute the same at the same time."""

    __slots__ = ("before", "blocks", "tokens")

    def __init__(self, before: "Content | None", tokens: Tokens) -> None:
        self.before = before
        self.tokens = tokens
        self.blocks: list[int] = []

    @property
    def block(self) -> int:
        """The block that the next sequence shares."""
        return self.blocks[-1]


class PrefixIndex:
    """Contents by their names, and by the blocks that hold them."""

    __slots__ = ("_by_block", "_by_name")

    def __init__(self) -> None:
        self._by_name: dict[tuple[Content | None, Tokens], Content] = {}
        self._by_block: dict[int, Content] = {}

    def find(self, before: Content | None, tokens: Tokens) -> Content | None:
        """The content of ``tokens`` after ``before`` (None: at the start), if some block holds it."""
        return self._by_name.get((before, tokens))

    def add(self, block: int, before: Content | None, tokens: Tokens) -> Content:
        """``block``, of which nothing is known, now holds ``tokens`` after ``before``."""
        if block in self._by_block:
            panic(f"add: it is known already what block {block} holds")
        name = (before, tokens)
        content = self._by_name.get(name)
        if content is None:
            content = self._by_name[name] = Content(before, tokens)
        content.blocks.append(block)
        self._by_block[block] = content
        return content

    def forget(self, block: int) -> None:
        """``block`` is about to hold something else."""
        content = self._by_block.pop(block, None)
        if content is None:
            return
        content.blocks.remove(block)
        if not content.blocks:
            del self._by_name[content.before, content.tokens]

    def content_of(self, block: int) -> Content | None:
        """What ``block`` holds, None when it is not known."""
        return self._by_block.get(block)

    def audit(self) -> None:
        """Panic unless names, blocks and chains agree."""
        for name, content in self._by_name.items():
            if name != (content.before, content.tokens) or not content.blocks:
                panic(f"audit: a content of {content.tokens} is known by another name, or by no block")
            if content.before is not None and not content.before.blocks:
                panic(f"audit: nothing holds what comes before {content.tokens}")
        named = sorted(block for content in self._by_name.values() for block in content.blocks)
        if named != sorted(self._by_block):
            panic("audit: the contents name other blocks than the index")
        for block, content in self._by_block.items():
            if block not in content.blocks:
                panic(f"audit: block {block} is not among those of its content")
