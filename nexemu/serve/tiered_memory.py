"""Tiers below the device: what the tree has forgotten is read back, where that beats computing it.

A request's prompt is looked for in the device's tree and then in each tier. The longest find decides:
what the tree lacks of it is copied up from the first tier that has it, which promotes it, since it is
then in the tree again.
"""

from collections.abc import Sequence

from nexemu.kv.tier import Tier
from nexemu.serve.costs import Costs
from nexemu.serve.memory import Admission, Usage, known_tokens
from nexemu.serve.radix_memory import RadixMemory
from nexemu.serve.request import Request


class TieredMemory:
    """A :class:`~nexemu.serve.memory.Memory`: ``device`` over ``tiers``, the fastest first. ``loaded`` counts
    the tokens that came from each."""

    def __init__(self, device: RadixMemory, tiers: Sequence[Tier], costs: Costs) -> None:
        self.loaded = dict.fromkeys((tier.name for tier in tiers), 0)
        self._device = device
        self._tiers = tiers
        self._costs = costs
        self._running: dict[int, tuple[list[int], str]] = {}

    def refusal(self, request: Request) -> str:
        return self._device.refusal(request)

    def cached(self, request: Request) -> int:
        return self._device.cached(request)

    def admit(self, number: int, request: Request, generated: int) -> Admission | None:
        tokens = known_tokens(request, generated)
        admission = self._device.admit(number, request, generated)
        if admission is None:
            return None
        self._running[number] = (tokens, request.namespace)
        cached, transfer = admission
        for tier in self._tiers:
            found = tier.match(tokens[:-1], request.namespace)
            price = self._costs.of_transfer(found - cached, tier.bytes_per_second)
            if found > cached and price < self._costs.of_prefill(cached, found):
                self.loaded[tier.name] += found - cached
                transfer += price
                cached = found
        self._store(number)
        return Admission(cached, transfer)

    def append(self, number: int, token: int) -> None:
        self._device.append(number, token)
        self._running[number][0].append(token)

    def finish(self, number: int) -> None:
        self._store(number)
        del self._running[number]
        self._device.finish(number)

    def preempt(self, number: int) -> int:
        self._store(number)
        del self._running[number]
        return self._device.preempt(number)

    def usage(self) -> Usage:
        return self._device.usage()

    def audit(self) -> None:
        self._device.audit()
        for tier in self._tiers:
            tier.audit()

    def _store(self, number: int) -> None:
        for tier in self._tiers:
            tier.store(*self._running[number])
