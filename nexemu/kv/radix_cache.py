"""The radix prefix cache: RadixAttention's tree, with any policy to choose the leaf that goes.

Owns the nodes. A node's run of tokens is a whole number of pages, and no two children of a node
begin with the same page. A node that is locked has locked ancestors only, each at least as often;
leaves without locks are what can be evicted. The policy knows nodes by their ids and is told of uses
from the end of a path to its start, so that it never takes a node to be fresher than its parent.

PATRICIA (Morrison, 1968); Zheng et al., "SGLang" (2024), section 3
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain

from nexemu.errors import panic
from nexemu.kv.prefix_cache import Insertion, Ints, Match, NodeView, page_aligned
from nexemu.policy import Evictor, Pages


class Node:
    """A run of tokens after those of ``parent``; ``children`` by their first page. A root has no parent
    and no tokens."""

    __slots__ = ("blocks", "children", "id", "locks", "namespace", "parent", "tokens")

    def __init__(
        self, number: int, namespace: str, parent: "Node | None", tokens: Ints, blocks: Ints
    ) -> None:
        self.id = number
        self.namespace = namespace
        self.parent = parent
        self.tokens = tokens
        self.blocks = blocks
        self.children: dict[bytes, Node] = {}
        self.locks = 0


class RadixCache(Pages):
    """A :class:`~nexemu.kv.prefix_cache.PrefixCache` with pages of ``page`` tokens."""

    __slots__ = ("cached_tokens", "locked_tokens", "page", "_evictor", "_next_id", "_nodes", "_roots")

    def __init__(self, page: int, evictor: Evictor) -> None:
        self.page = page
        self.cached_tokens = 0
        self.locked_tokens = 0
        self._evictor = evictor
        self._next_id = 0
        self._nodes: dict[int, Node] = {}
        self._roots: dict[str, Node] = {}

    def match(self, tokens: Sequence[int], namespace: str = "") -> Match:
        root = self._roots.get(namespace)
        if root is None:
            return Match(0, None)
        node, length = self._walk(root, page_aligned(tokens, self.page))
        self._touch(node)
        return Match(length, node.id if length else None)

    def insert(self, tokens: Sequence[int], blocks: Sequence[int], namespace: str = "") -> Insertion:
        key = page_aligned(tokens, self.page)
        if len(blocks) < len(key) // self.page:
            panic(f"insert: {len(blocks)} blocks for {len(key) // self.page} pages")
        if not key:
            return Insertion(0, Match(0, None))
        used, known = self._walk(self._root(namespace), key)
        node = used
        if known < len(key):
            pages = array("i", blocks[known // self.page : len(key) // self.page])
            node = self._add(used, key[known:], pages)
            self.cached_tokens += len(node.tokens)
        self._touch(used)
        return Insertion(known, Match(len(key), node.id))

    def blocks(self, match: Match) -> Ints:
        runs = [node.blocks for node in self._path(match)]
        return array("i", b"".join(run.tobytes() for run in reversed(runs)))

    def lock(self, match: Match) -> None:
        for node in self._path(match):
            if node.locks == 0:
                self.locked_tokens += len(node.tokens)
            node.locks += 1

    def unlock(self, match: Match) -> None:
        for node in self._path(match):
            if node.locks == 0:
                panic(f"unlock: node {node.id} is not locked")
            node.locks -= 1
            if node.locks == 0:
                self.locked_tokens -= len(node.tokens)

    def evict(self, tokens: int) -> Ints:
        goal = self.cached_tokens - tokens
        freed = array("i")
        while self.cached_tokens > goal:
            victim = self._evictor.victim(self._next_id, self)
            if victim is None:
                break
            node = self._nodes.pop(victim)
            self._detach(node)
            self.cached_tokens -= len(node.tokens)
            freed.extend(node.blocks)
        return freed

    def span(self, node: int) -> range:
        """The positions that a node's tokens have in the sequences that share it."""
        end = sum(len(step.tokens) for step in self._path(Match(0, node)))
        return range(end - len(self._nodes[node].tokens), end)

    # ---- what the policy may ask ------------------------------------------------------------------

    def pinned(self, page: int) -> bool:
        node = self._nodes[page]
        return bool(node.locks or node.children)

    # ---- looking ----------------------------------------------------------------------------------

    def nodes(self) -> Iterator[NodeView]:
        for namespace in sorted(self._roots):
            below = [(0, self._roots[namespace])]
            while below:
                depth, node = below.pop()
                if node.parent is not None:
                    yield NodeView(namespace, depth - 1, tuple(node.tokens), node.locks)
                children = sorted(node.children.values(), key=lambda child: child.tokens, reverse=True)
                below += [(depth + 1, child) for child in children]

    def held_blocks(self) -> Iterator[int]:
        """Every block that the tree owns, once."""
        return chain.from_iterable(node.blocks for node in self._nodes.values())

    def audit(self) -> None:
        if sum(len(node.tokens) for node in self._nodes.values()) != self.cached_tokens:
            panic(f"audit: the nodes do not hold {self.cached_tokens} tokens")
        if sum(len(node.tokens) for node in self._nodes.values() if node.locks) != self.locked_tokens:
            panic(f"audit: the locked nodes do not hold {self.locked_tokens} tokens")
        for number, node in self._nodes.items():
            if number != node.id or node.parent is None or not node.tokens:
                panic(f"audit: node {number} is not a node")
            if node.parent.children.get(self._first_page(node)) is not node:
                panic(f"audit: node {number} is not a child of its parent")
            if len(node.tokens) != self.page * len(node.blocks):
                panic(f"audit: node {number} has {len(node.blocks)} blocks for {len(node.tokens)} tokens")
            if node.parent.parent is not None and node.parent.locks < node.locks:
                panic(f"audit: node {number} is locked more often than its parent")
        children = sum(len(node.children) for node in [*self._nodes.values(), *self._roots.values()])
        if children != len(self._nodes) or not all(root.children for root in self._roots.values()):
            panic("audit: a node is out of reach, or a root without nodes is left")

    # ---- how --------------------------------------------------------------------------------------

    def _root(self, namespace: str) -> Node:
        root = self._roots.get(namespace)
        if root is None:
            root = self._roots[namespace] = Node(-1, namespace, None, array("i"), array("i"))
        return root

    def _walk(self, root: Node, key: Ints) -> tuple[Node, int]:
        """The node at the end of the longest cached prefix of ``key``, and that prefix's length. A node
        is cut where the prefix ends within it."""
        node, length = root, 0
        while length < len(key):
            child = node.children.get(key[length : length + self.page].tobytes())
            if child is None:
                break
            common = _common_prefix(child.tokens, key, length)
            common -= common % self.page
            length += common
            if common < len(child.tokens):
                return self._split(child, common), length
            node = child
        return node, length

    def _touch(self, node: Node) -> None:
        step: Node | None = node
        while step is not None and step.parent is not None:
            self._evictor.touch(step.id)
            step = step.parent

    def _add(self, parent: Node, tokens: Ints, blocks: Ints) -> Node:
        node = Node(self._next_id, parent.namespace, parent, tokens, blocks)
        self._next_id += 1
        self._nodes[node.id] = node
        parent.children[self._first_page(node)] = node
        self._evictor.admit(node.id)
        return node

    def _split(self, lower: Node, at: int) -> Node:
        """Put the first ``at`` tokens of ``lower`` into a node above it, which is returned. Whoever
        holds ``lower`` keeps the whole prefix."""
        assert lower.parent is not None
        pages = at // self.page
        upper = self._add(lower.parent, lower.tokens[:at], lower.blocks[:pages])
        upper.locks = lower.locks
        lower.tokens, lower.blocks = lower.tokens[at:], lower.blocks[pages:]
        lower.parent = upper
        upper.children[self._first_page(lower)] = lower
        return upper

    def _detach(self, leaf: Node) -> None:
        assert leaf.parent is not None
        del leaf.parent.children[self._first_page(leaf)]
        if leaf.parent.parent is None and not leaf.parent.children:
            del self._roots[leaf.namespace]

    def _first_page(self, node: Node) -> bytes:
        return node.tokens[: self.page].tobytes()

    def _path(self, match: Match) -> Iterator[Node]:
        """The nodes of a prefix, from its end to its start."""
        if match.node is None:
            return
        if match.node not in self._nodes:
            panic(f"radix cache: node {match.node} was evicted")
        node: Node | None = self._nodes[match.node]
        while node is not None and node.parent is not None:
            yield node
            node = node.parent


def _common_prefix(run: Ints, key: Ints, start: int) -> int:
    """How many tokens of ``run`` stand in ``key`` from ``start`` on."""
    length = min(len(run), len(key) - start)
    if run[:length] == key[start : start + length]:
        return length
    same, different = 0, length
    while different - same > 1:
        middle = (same + different) // 2
        if run[same:middle] == key[start + same : start + middle]:
            same = middle
        else:
            different = middle
    return same
