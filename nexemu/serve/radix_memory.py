"""A radix tree over blocks: RadixAttention's memory.

A request's full pages go into the tree when it is admitted and again when it leaves, and stay there
until their blocks are needed. While it runs it locks its path, and owns the blocks of what it has
generated since. Of two requests that run side by side, the block manager's index lets one find what
the other generates; a tree does not, until that one has ended.
"""

from itertools import chain

from nexemu.errors import OutOfMemory
from nexemu.kv.pool import BlockPool
from nexemu.kv.prefix_cache import Match
from nexemu.kv.radix_cache import RadixCache
from nexemu.serve.memory import Admission, Usage, known_tokens
from nexemu.serve.request import Request


class Holding:
    """A running request: ``blocks`` of all its tokens, of which the first ``shared`` are the tree's."""

    __slots__ = ("blocks", "lock", "namespace", "shared", "tokens")

    def __init__(self, tokens: list[int], blocks: list[int], lock: Match, namespace: str) -> None:
        self.tokens = tokens
        self.blocks = blocks
        self.lock = lock
        self.shared = len(blocks)
        self.namespace = namespace


class RadixMemory:
    """A :class:`~nexemu.serve.memory.Memory` of ``total`` blocks, each a page of ``cache``.
    ``watermark``: blocks that admission leaves free or evictable."""

    def __init__(self, total: int, cache: RadixCache, watermark: int = 0) -> None:
        self.pool = BlockPool(total)
        self.cache = cache
        self._watermark = watermark
        self._holdings: dict[int, Holding] = {}

    def refusal(self, request: Request) -> str:
        needed = self._pages(request.tokens - 1) + self._watermark
        if needed > self.pool.total:
            return f"it needs {needed} blocks with the watermark, and there are {self.pool.total}"
        return ""

    def cached(self, request: Request) -> int:
        return self.cache.match(request.prompt[:-1], request.namespace).length

    def admit(self, number: int, request: Request, generated: int) -> Admission | None:
        tokens = known_tokens(request, generated)
        match = self.cache.match(tokens[:-1], request.namespace)  # the last token is always computed
        self.cache.lock(match)
        holding = Holding(tokens, list(self.cache.blocks(match)), match, request.namespace)
        missing = self._pages(len(tokens)) - len(holding.blocks)
        if missing + self._watermark > self._available():
            self.cache.unlock(match)
            return None
        holding.blocks += [self._take() for _ in range(missing)]
        self._holdings[number] = holding
        self._share(holding)
        return Admission(match.length)

    def append(self, number: int, token: int) -> None:
        holding = self._holdings[number]
        if len(holding.tokens) == len(holding.blocks) * self.cache.page:
            holding.blocks.append(self._take())
        holding.tokens.append(token)

    def finish(self, number: int) -> None:
        holding = self._holdings.pop(number)
        self._share(holding)
        for block in holding.blocks[holding.shared :]:
            self.pool.kfree(block)
        self.cache.unlock(holding.lock)

    def preempt(self, number: int) -> int:
        self.finish(number)  # what it has computed stays in the tree until somebody needs the blocks
        return 0

    def usage(self) -> Usage:
        page = self.cache.page
        own = sum(len(holding.blocks) - holding.shared for holding in self._holdings.values())
        in_own = sum(len(each.tokens) - each.shared * page for each in self._holdings.values())
        locked = self.cache.locked_tokens
        return Usage(
            stored=locked + in_own,
            cached=self.cache.cached_tokens - locked,
            internal=own * page - in_own,
            free=self.pool.free_blocks * page,
        )

    def audit(self) -> None:
        self.cache.audit()
        own = chain.from_iterable(holding.blocks[holding.shared :] for holding in self._holdings.values())
        self.pool.audit(chain(self.cache.held_blocks(), own))

    def _pages(self, tokens: int) -> int:
        return -(-tokens // self.cache.page)

    def _available(self) -> int:
        evictable = self.cache.cached_tokens - self.cache.locked_tokens
        return self.pool.free_blocks + evictable // self.cache.page

    def _take(self) -> int:
        """A block, from the tree when none is free. Raises OutOfMemory."""
        if not self.pool.free_blocks:
            for block in self.cache.evict(self.cache.page):
                self.pool.kfree(block)
        if not self.pool.free_blocks:
            raise OutOfMemory("radix memory: every block is in use")
        return self.pool.kalloc()

    def _share(self, holding: Holding) -> None:
        """Put all full pages of ``holding`` into the tree. Where another request was first, use its
        blocks and give back the own ones."""
        known, match = self.cache.insert(holding.tokens, holding.blocks, holding.namespace)
        for block in holding.blocks[holding.shared : known // self.cache.page]:
            self.pool.kfree(block)
        self.cache.lock(match)
        self.cache.unlock(holding.lock)
        holding.lock = match
        holding.shared = match.length // self.cache.page
        holding.blocks[: holding.shared] = self.cache.blocks(match)
