"""Blocks and block tables: PagedAttention's memory, with or without a prefix cache.

A preempted request is dropped and computed again, or swapped to the host and copied back.
"""

from nexemu.errors import OutOfMemory
from nexemu.kv.block_manager import BlockManager
from nexemu.serve.costs import PCIE, Costs
from nexemu.serve.memory import Admission, Usage, known_tokens
from nexemu.serve.request import Request


class PagedMemory:
    """A :class:`~nexemu.serve.memory.Memory` on a block manager. A request that finds no room on the
    host when it is preempted is dropped."""

    def __init__(self, manager: BlockManager, costs: Costs) -> None:
        self.manager = manager
        self._costs = costs
        self._on_host: set[int] = set()

    def refusal(self, request: Request) -> str:
        manager = self.manager
        needed = manager.blocks_for(request.tokens - 1) + manager.watermark
        if needed > manager.pool.total:
            return f"it needs {needed} blocks with the watermark, and there are {manager.pool.total}"
        return ""

    def cached(self, request: Request) -> int:
        return self.manager.cached_prefix(request.prompt, request.namespace)

    def admit(self, number: int, request: Request, generated: int) -> Admission | None:
        tokens = known_tokens(request, generated)
        manager = self.manager
        if number in self._on_host:
            if not manager.can_swap_in(number, growth=1):
                return None
            manager.swap_in(number)
            manager.append(number, tokens[-1])
            self._on_host.remove(number)
            return Admission(len(tokens) - 1, self._costs.of_transfer(len(tokens) - 1, PCIE))
        if not manager.can_allocate(tokens, request.namespace):
            return None
        return Admission(manager.allocate(number, tokens, request.namespace))

    def append(self, number: int, token: int) -> None:
        self.manager.append(number, token)

    def finish(self, number: int) -> None:
        self.manager.free(number)

    def preempt(self, number: int) -> int:
        tokens = len(self.manager.tokens(number))
        try:
            self.manager.swap_out(number)
        except OutOfMemory:
            self.manager.free(number)
            return 0
        self._on_host.add(number)
        return self._costs.of_transfer(tokens, PCIE)

    def usage(self) -> Usage:
        manager = self.manager
        size = manager.block_tokens
        empty = manager.empty_slots
        cached = manager.cached_blocks * size
        free = manager.pool.free_blocks * size - cached
        return Usage(stored=manager.pool.used_blocks * size - empty, cached=cached, internal=empty, free=free)

    def audit(self) -> None:
        self.manager.audit()
