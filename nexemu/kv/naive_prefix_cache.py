"""The naive prefix cache: a list of runs, searched from end to end.

The twin of the radix cache: same contract, same cuts, same victims, and no pointers. A run knows all
tokens from the start of its sequence to its own end, so every question is one comparison of whole
prefixes, and nothing has to be kept in step with anything else.
"""

from collections.abc import Iterable, Sequence

from nexemu.errors import panic
from nexemu.kv.prefix_cache import Insertion, Match, NodeView, page_aligned
from nexemu.policy import Evictor, Pages


class Run:
    """Positions ``start`` to the end of ``prefix``, which is the whole sequence up to there."""

    def __init__(self, namespace: str, prefix: list[int], start: int, blocks: Sequence[int]) -> None:
        self.namespace = namespace
        self.prefix = prefix
        self.start = start
        self.blocks = list(blocks)
        self.locks = 0


class NaivePrefixCache(Pages):
    """A :class:`~nexemu.kv.prefix_cache.PrefixCache` for tests and for readers."""

    def __init__(self, page: int, evictor: Evictor) -> None:
        self.page = page
        self._evictor = evictor
        self._born = 0
        self._runs: dict[int, Run] = {}

    @property
    def cached_tokens(self) -> int:
        return sum(len(run.prefix) - run.start for run in self._runs.values())

    @property
    def locked_tokens(self) -> int:
        return sum(len(run.prefix) - run.start for run in self._runs.values() if run.locks)

    def match(self, tokens: Sequence[int], namespace: str = "") -> Match:
        found = self._find(list(page_aligned(tokens, self.page)), namespace)
        self._touch(found)
        return found

    def insert(self, tokens: Sequence[int], blocks: Sequence[int], namespace: str = "") -> Insertion:
        prefix = list(page_aligned(tokens, self.page))
        if len(blocks) < len(prefix) // self.page:
            panic("insert: too few blocks")
        found = self._find(prefix, namespace)
        known, whole = found.length, found
        if known < len(prefix):
            own = blocks[known // self.page : len(prefix) // self.page]
            whole = Match(len(prefix), self._add(Run(namespace, prefix, known, own)))
        self._touch(found)
        return Insertion(known, whole)

    def blocks(self, match: Match) -> list[int]:
        return [block for number in reversed(self._path(match)) for block in self._runs[number].blocks]

    def lock(self, match: Match) -> None:
        for number in self._path(match):
            self._runs[number].locks += 1

    def unlock(self, match: Match) -> None:
        for number in self._path(match):
            if not self._runs[number].locks:
                panic(f"unlock: run {number} is not locked")
            self._runs[number].locks -= 1

    def evict(self, tokens: int) -> list[int]:
        freed: list[int] = []
        while len(freed) * self.page < tokens:
            victim = self._evictor.victim(self._born, self)
            if victim is None:
                break
            freed += self._runs.pop(victim).blocks
        return freed

    def pinned(self, page: int) -> bool:
        run = self._runs[page]
        continued = any(
            other.start == len(run.prefix) and _begins(other, run.namespace, run.prefix)
            for other in self._runs.values()
        )
        return run.locks > 0 or continued

    def nodes(self) -> Iterable[NodeView]:
        for run in sorted(self._runs.values(), key=lambda run: (run.namespace, run.prefix)):
            depth = len(self._ancestors(run.namespace, run.prefix)) - 1
            yield NodeView(run.namespace, depth, tuple(run.prefix[run.start :]), run.locks)

    def audit(self) -> None:
        for number, run in self._runs.items():
            if (len(run.prefix) - run.start) != self.page * len(run.blocks) or not run.blocks:
                panic(f"audit: run {number} has {len(run.blocks)} blocks")
            if self._find(run.prefix, run.namespace) != Match(len(run.prefix), number):
                panic(f"audit: run {number} cannot be found")

    def _find(self, wanted: list[int], namespace: str) -> Match:
        """The longest cached prefix of ``wanted``, whose last run is cut to end with it."""
        runs = [run for run in self._runs.values() if run.namespace == namespace]
        length = max((self._common(run.prefix, wanted) for run in runs), default=0)
        for number, run in list(self._runs.items()):
            if run.start < length <= len(run.prefix) and _begins(run, namespace, wanted[:length]):
                return Match(length, number if length == len(run.prefix) else self._cut(run, length))
        return Match(0, None)

    def _cut(self, run: Run, length: int) -> int:
        pages = (length - run.start) // self.page
        upper = Run(run.namespace, run.prefix[:length], run.start, run.blocks[:pages])
        upper.locks = run.locks
        run.start, run.blocks = length, run.blocks[pages:]
        return self._add(upper)

    def _add(self, run: Run) -> int:
        number = self._born
        self._born += 1
        self._runs[number] = run
        self._evictor.admit(number)
        return number

    def _common(self, one: list[int], other: list[int]) -> int:
        length = 0
        while length < min(len(one), len(other)) and one[length] == other[length]:
            length += 1
        return length - length % self.page

    def _ancestors(self, namespace: str, prefix: list[int]) -> list[int]:
        """The runs that make up ``prefix``, the last first."""
        on_the_way = [
            (len(run.prefix), number)
            for number, run in self._runs.items()
            if run.namespace == namespace and run.prefix == prefix[: len(run.prefix)]
        ]
        return [number for _, number in sorted(on_the_way, reverse=True)]

    def _path(self, match: Match) -> list[int]:
        if match.node is None:
            return []
        if match.node not in self._runs:
            panic(f"naive cache: run {match.node} was evicted")
        run = self._runs[match.node]
        return self._ancestors(run.namespace, run.prefix)

    def _touch(self, match: Match) -> None:
        for number in self._path(match):
            self._evictor.touch(number)


def _begins(run: Run, namespace: str, prefix: list[int]) -> bool:
    """Does what ``run`` ends begin with ``prefix``?"""
    return run.namespace == namespace and run.prefix[: len(prefix)] == prefix
