"""The contract of prefix caches: which beginnings of sequences have been computed, and in which blocks.

A cache is a tree of nodes; each node holds a run of tokens and the blocks with their keys and values,
one block for each page of tokens. The path from a root to a node is a prefix. Runs are cut where
prefixes part, and only at multiples of the page.

:class:`~nexemu.kv.radix_cache.RadixCache` is the real one, and
:class:`~nexemu.kv.naive_prefix_cache.NaivePrefixCache` its twin that anyone can check.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

Ints: TypeAlias = "array[int]"
"""Tokens or block numbers, close together: four bytes each."""


class Match(NamedTuple):
    """A cached prefix: its ``length`` in tokens and the node at its end, None for the empty prefix.
    It may be evicted unless it is locked."""

    length: int
    node: int | None


class Insertion(NamedTuple):
    """``match`` is all that was inserted; the first ``known`` tokens were in the cache before."""

    known: int
    match: Match


class NodeView(NamedTuple):
    """A node as it may be shown. ``depth`` is 0 below a root."""

    namespace: str
    depth: int
    tokens: tuple[int, ...]
    locks: int


class PrefixCache(Protocol):
    """Prefixes of sequences of tokens, a page at a time: what is left over behind the last full page
    is ignored. Namespaces share nothing: two models, or two tenants, may use equal tokens."""

    page: int

    def match(self, tokens: Sequence[int], namespace: str = "") -> Match:
        """The longest cached prefix of ``tokens``. It counts as used, and a node is cut so that the prefix
        ends with one."""

    def insert(self, tokens: Sequence[int], blocks: Sequence[int], namespace: str = "") -> Insertion:
        """Cache ``tokens``, whose pages are in ``blocks``, one each. The cache now owns the blocks of what
        it did not know; those of the ``known`` tokens remain the caller's."""

    def blocks(self, match: Match) -> Sequence[int]:
        """The blocks of a cached prefix, in order."""

    def lock(self, match: Match) -> None:
        """Keep a prefix, so every node up to the root, until it is unlocked as often. Panics when it was
        evicted since it was matched."""

    def unlock(self, match: Match) -> None:
        """Undo one ``lock``."""

    def evict(self, tokens: int) -> Sequence[int]:
        """Forget at least ``tokens`` tokens, or all that nobody has locked, leaf by leaf as the policy says.
        The result is the blocks that held them; they are the caller's now."""

    @property
    def cached_tokens(self) -> int:
        """How many tokens are in the cache."""

    @property
    def locked_tokens(self) -> int:
        """How many of them cannot be evicted now."""

    def nodes(self) -> Iterable[NodeView]:
        """Every node after its parent, siblings in the order of their tokens."""

    def audit(self) -> None:
        """Panic unless every invariant holds."""


def page_aligned(tokens: Sequence[int], page: int) -> Ints:
    """The full pages of ``tokens``."""
    copy = array("i", tokens)
    del copy[len(copy) - len(copy) % page :]
    return copy


def pretty(nodes: Iterable[NodeView], show: Callable[[int], str]) -> str:
    """The tree as text, a line a node; ``show`` names a token."""
    lines = []
    for node in nodes:
        text = " ".join(map(show, node.tokens))
        locks = f", locks {node.locks}" if node.locks else ""
        lines.append(f"{'  ' * node.depth}└ [{text}]  length {len(node.tokens)}{locks}")
    return "\n".join(lines)
