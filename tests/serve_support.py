"""Memories of a few slots, requests of a few tokens, and costs in round numbers."""

from array import array

from nexemu.evict.lru import Lru
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.radix_cache import RadixCache
from nexemu.serve.contiguous_memory import ContiguousMemory
from nexemu.serve.costs import Costs
from nexemu.serve.paged_memory import PagedMemory
from nexemu.serve.radix_memory import RadixMemory
from nexemu.serve.request import Request

COSTS = Costs(step=1000, prefill=10, attention=0, decode=100, context=1, token_bytes=1)
"""Round numbers, in ns; a byte a token, so that a transfer over PCIe of less than 25 tokens takes no time."""

MEMORIES = {
    "max": lambda slots, page: ContiguousMemory(slots, "max", slots),
    "limit": lambda slots, page: ContiguousMemory(slots, "limit", slots),
    "pow2": lambda slots, page: ContiguousMemory(slots, "pow2", slots),
    "oracle": lambda slots, page: ContiguousMemory(slots, "oracle", slots),
    "paged": lambda slots, page: PagedMemory(BlockManager(slots // page, page, prefix_caching=False), COSTS),
    "prefix": lambda slots, page: PagedMemory(BlockManager(slots // page, page), COSTS),
    "swap": lambda slots, page: PagedMemory(BlockManager(slots // page, page, host_blocks=9), COSTS),
    "radix": lambda slots, page: RadixMemory(slots // page, RadixCache(page, Lru())),
}


def request(prompt, output, arrival=0, **fields):
    """``prompt`` and ``output`` are tokens, or how many there are, of which nobody has the same."""
    if isinstance(prompt, int):
        prompt = range(1000 * arrival, 1000 * arrival + prompt)
    if isinstance(output, int):
        output = range(500_000, 500_000 + output)
    return Request(
        arrival, array("i", prompt), array("i", output), fields.pop("limit", len(output)), **fields
    )
