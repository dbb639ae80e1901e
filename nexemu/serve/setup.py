"""Servers by name: which memories and schedulers there are, and how one is put together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from nexemu.evict import POLICIES
from nexemu.evict import Setup as EvictorSetup
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.flop_aware import FlopAware
from nexemu.kv.radix_cache import RadixCache
from nexemu.kv.tier import Tier
from nexemu.serve.contiguous_memory import ContiguousMemory
from nexemu.serve.costs import PCIE, SSD, Costs
from nexemu.serve.engine import Batch, Engine, Outcome
from nexemu.serve.memory import Memory
from nexemu.serve.paged_memory import PagedMemory
from nexemu.serve.radix_memory import RadixMemory
from nexemu.serve.request import Request
from nexemu.serve.schedulers import scheduler_for
from nexemu.serve.tiered_memory import TieredMemory

FLOPS: Final = "flops"
"""The eviction policy that is not among the kernel's: it has to know how long prefixes are."""

EVICTORS: Final[Mapping[str, str]] = {
    **{name: policy.idea for name, policy in POLICIES.items() if policy.online},
    FLOPS: "who is used least recently and is cheap to compute again",
}
"""The eviction policies of a radix tree by name, with what each is about."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A server's sizes, in tokens but for ``watermark``, the part of the blocks that admission leaves free.
    ``longest``: what one request may become."""

    slots: int = 16_384
    block: int = 16
    longest: int = 4_096
    host_slots: int = 65_536
    disk_slots: int = 1 << 20
    watermark: float = 0.01
    evictor: str = "lru"
    costs: Costs = field(default_factory=Costs)
    batch: Batch = field(default_factory=Batch)

    @property
    def blocks(self) -> int:
        """How many blocks the device has."""
        return self.slots // self.block

    @property
    def reserve(self) -> int:
        """How many blocks admission leaves free."""
        return int(self.blocks * self.watermark)


def tree(setting: Setting, slots: int) -> RadixCache:
    """An empty radix tree for ``slots`` tokens, under the setting's policy."""
    if setting.evictor == FLOPS:
        costs = setting.costs
        cache = RadixCache(setting.block, FlopAware(lambda node: _price(costs, cache.span(node))))
    else:
        policy = POLICIES[setting.evictor](EvictorSetup(slots // setting.block))
        cache = RadixCache(setting.block, policy)
    return cache


def _price(costs: Costs, span: range) -> float:
    """What computing these positions takes, a token."""
    return costs.of_prefill(span.start, span.stop) / len(span)


def _contiguous(reserve: str) -> Callable[[Setting], Memory]:
    return lambda setting: ContiguousMemory(setting.slots, reserve, setting.longest)


def _paged(*, prefix_caching: bool, swap: bool = False) -> Callable[[Setting], Memory]:
    def make(setting: Setting) -> Memory:
        manager = BlockManager(
            setting.blocks,
            setting.block,
            host_blocks=setting.host_slots // setting.block if swap else 0,
            watermark=setting.reserve,
            prefix_caching=prefix_caching,
        )
        return PagedMemory(manager, setting.costs)

    return make


def _radix(setting: Setting) -> RadixMemory:
    return RadixMemory(setting.blocks, tree(setting, setting.slots), setting.reserve)


def _tiered(setting: Setting) -> Memory:
    tiers = [
        Tier(name, slots // setting.block, tree(setting, slots), speed)
        for name, slots, speed in (("host", setting.host_slots, PCIE), ("disk", setting.disk_slots, SSD))
    ]
    return TieredMemory(_radix(setting), tiers, setting.costs)


@dataclass(frozen=True, slots=True)
class Row:
    """A memory: what it does, and how it is made."""

    idea: str
    make: Callable[[Setting], Memory]


MEMORIES: Final[Mapping[str, Row]] = {
    "max": Row("one run, the longest reserved", _contiguous("max")),
    "limit": Row("one run, the client's limit reserved", _contiguous("limit")),
    "pow2": Row("one run, a power of two reserved", _contiguous("pow2")),
    "oracle": Row("one run, what will come reserved", _contiguous("oracle")),
    "paged": Row("blocks as they are needed", _paged(prefix_caching=False)),
    "swap": Row("blocks, the preempted swapped to the host", _paged(prefix_caching=False, swap=True)),
    "prefix": Row("blocks, full ones found by what they hold", _paged(prefix_caching=True)),
    "radix": Row("blocks in a radix tree", _radix),
    "tiered": Row("a radix tree over host and disk", _tiered),
}
"""The memories by name, from the simplest on."""


def build(requests: Sequence[Request], memory: Memory, scheduler: str, setting: Setting) -> Engine:
    """An engine for ``requests``, which are in the order of their arrival."""
    policy = scheduler_for(scheduler, requests, memory.cached)
    return Engine(requests, memory, policy, setting.costs, setting.batch)


def serve(requests: Sequence[Request], memory: str, scheduler: str, setting: Setting) -> Outcome:
    """Serve ``requests`` to the end, with a memory and a scheduler by name."""
    return build(requests, MEMORIES[memory].make(setting), scheduler, setting).run()
