import pytest
from serve_support import COSTS, request

from nexemu.errors import KernelPanic
from nexemu.kv.block_manager import BlockManager
from nexemu.sched.fcfs import Fcfs
from nexemu.serve.balloon import Tenant, serve_together
from nexemu.serve.engine import Engine
from nexemu.serve.paged_memory import PagedMemory

DEVICE = 16  # blocks of 4 tokens


def tenant(requests, own):
    manager = BlockManager(DEVICE, 4, prefix_caching=False)
    return Tenant(Engine(requests, PagedMemory(manager, COSTS), Fcfs(), COSTS), manager, own)


def burst(start):
    return [request(8, 9, arrival=start + number) for number in range(6)]


def in_use(tenants):
    return sum(each.manager.pool.used_blocks for each in tenants) - DEVICE * (len(tenants) - 1)


def run(step, *traces):
    tenants = [tenant(trace, DEVICE // len(traces)) for trace in traces]
    serve_together(tenants, step)
    return tenants


@pytest.mark.parametrize("step", [0, 2])
def test_everybody_is_served_and_all_memory_is_there_again(step):
    tenants = run(step, burst(0), burst(100))
    for each in tenants:
        each.manager.audit()
        assert all(record.finished for record in each.engine.outcome.records)
    assert in_use(tenants) == 0


def test_an_idle_model_s_memory_makes_a_busy_one_faster():
    """The second model works only after the first has ended."""
    fixed = run(0, burst(0), burst(1_000_000))
    moving = run(2, burst(0), burst(1_000_000))
    for before, after in zip(fixed, moving, strict=True):
        last = [max(record.finished for record in each.engine.outcome.records) for each in (before, after)]
        assert last[1] < last[0]


def test_what_the_balloons_hold_together_never_changes(monkeypatch):
    """So no more than the device is ever in use."""
    tenants = [tenant(burst(0), 8), tenant(burst(3), 8)]
    inflated = set()
    step = Engine.step

    def watched(engine):
        inflated.add(tuple(len(each.manager._balloon) for each in tenants))
        return step(engine)

    monkeypatch.setattr(Engine, "step", watched)
    serve_together(tenants, 2)
    assert len(inflated) > 1
    assert {sum(each) for each in inflated} == {DEVICE}


def test_a_model_whose_memory_is_too_small_is_found_out():
    with pytest.raises(KernelPanic, match="no model can go on"):
        run(0, [request(40, 1)], [])
