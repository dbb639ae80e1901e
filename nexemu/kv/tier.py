"""A tier of a prefix store: memory below the device's, larger and slower, on the host or on a disk.

Tiers are inclusive: what a request has computed is written to every tier, and each forgets by its own
policy. So a tier needs no word from the one above it, and what the device has evicted is still here.

Qin et al., "Mooncake" (2025); Xie et al., "Strata" (2025)
"""

from collections.abc import Sequence

from nexemu.kv.pool import BlockPool
from nexemu.kv.radix_cache import RadixCache


class Tier:
    """``total`` pages in a tree of their own; ``bytes_per_second`` is how fast the tier above reads them."""

    __slots__ = ("bytes_per_second", "cache", "name", "pool")

    def __init__(self, name: str, total: int, cache: RadixCache, bytes_per_second: int) -> None:
        self.name = name
        self.pool = BlockPool(total)
        self.cache = cache
        self.bytes_per_second = bytes_per_second

    def match(self, tokens: Sequence[int], namespace: str = "") -> int:
        """How many tokens, from the first on, can be read from here."""
        return self.cache.match(tokens, namespace).length

    def store(self, tokens: Sequence[int], namespace: str = "") -> None:
        """Keep the full pages of ``tokens``, as many from the first on as there is room for."""
        match = self.cache.match(tokens, namespace)
        self.cache.lock(match)
        known = match.length // self.cache.page
        missing = len(tokens) // self.cache.page - known
        for block in self.cache.evict((missing - self.pool.free_blocks) * self.cache.page):
            self.pool.kfree(block)
        fresh = [self.pool.kalloc() for _ in range(min(missing, self.pool.free_blocks))]
        kept = tokens[: (known + len(fresh)) * self.cache.page]
        self.cache.insert(kept, [*self.cache.blocks(match), *fresh], namespace)
        self.cache.unlock(match)

    def audit(self) -> None:
        """Panic unless the tree holds exactly the blocks that are in use."""
        self.cache.audit()
        self.pool.audit(self.cache.held_blocks())
