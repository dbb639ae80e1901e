"""Two models on one device: free memory goes to the model that has work.

Each model has its own blocks, as many as the device could hold, and a balloon: a holder of blocks
that are not really there, as a virtual machine's balloon driver is. What all balloons hold together
is what all models would need beyond the device; so to move memory from one model to another is to
inflate the one's balloon and to deflate the other's.

Waldspurger, "Memory resource management in VMware ESX" (2002); Yu et al., "Prism" (2025)
"""

from collections.abc import Sequence

from nexemu.errors import panic
from nexemu.kv.block_manager import BlockManager
from nexemu.serve.engine import Engine


class Tenant:
    """A model: its engine and its blocks, of which it has ``own`` to begin with."""

    __slots__ = ("engine", "manager")

    def __init__(self, engine: Engine, manager: BlockManager, own: int) -> None:
        self.engine = engine
        self.manager = manager
        manager.inflate(manager.pool.total - own)


def serve_together(tenants: Sequence[Tenant], step: int) -> None:
    """Run all engines to their end on one clock. A model for which somebody waits, or which has fewer than
    ``step`` free blocks, gets so many of every other's free ones before each step, but for the last
    ``step``. With 0 no memory moves. Panics when no model can go on."""
    while working := [tenant for tenant in tenants if not tenant.engine.done]:
        tenant = min(working, key=lambda each: each.engine.now)
        if tenant.engine.waiting or (tenant.engine.running and tenant.manager.pool.free_blocks < step):
            _move(tenant, tenants, step)
        if not tenant.engine.step() and not _move(tenant, tenants, step):
            _wait_for_others(tenant, working)


def _move(taker: Tenant, tenants: Sequence[Tenant], step: int) -> int:
    """Blocks from all others to ``taker``; how many."""
    moved = 0
    for giver in tenants:
        spare = min(step, giver.manager.pool.free_blocks - step)
        if giver is not taker and spare > 0:
            moved += taker.manager.deflate(giver.manager.inflate(spare))
    return moved


def _wait_for_others(stuck: Tenant, working: Sequence[Tenant]) -> None:
    """Nothing can be admitted until another model, which runs or has yet to begin, gives memory back."""
    able = [each.engine for each in working if each.engine.running or not each.engine.waiting]
    if not able:
        panic("balloon: no model can go on")
    stuck.engine.wait_until(min(engine.now for engine in able) + 1)
