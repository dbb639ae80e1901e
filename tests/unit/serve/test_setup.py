import pytest

from nexemu.serve.costs import Costs
from nexemu.serve.engine import Batch
from nexemu.serve.metrics import summarize
from nexemu.serve.schedulers import SCHEDULERS
from nexemu.serve.setup import EVICTORS, FLOPS, MEMORIES, Setting, build, serve, tree
from nexemu.serve.workload import WORKLOADS

SMALL = Setting(slots=2_048, longest=1_024, host_slots=1_024, disk_slots=4_096)


@pytest.fixture(scope="module")
def chats():
    return WORKLOADS["chat"](1, 6, 2.0)


@pytest.mark.parametrize("memory", MEMORIES)
def test_every_memory_serves_under_pressure(memory, chats):
    engine = build(chats, MEMORIES[memory].make(SMALL), "fcfs", SMALL)
    outcome = engine.run()
    engine.memory.audit()
    assert all(bool(record.finished) != bool(record.refused) for record in outcome.records)
    assert summarize(outcome).finished > 0


@pytest.mark.parametrize("evictor", EVICTORS)
def test_a_tree_takes_every_policy(evictor, chats):
    setting = Setting(slots=2_048, longest=1_024, evictor=evictor)
    assert summarize(serve(chats, "radix", "fcfs", setting)).finished > 0


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_scheduler_serves_everybody(scheduler, chats):
    outcome = serve(chats, "radix", scheduler, Setting(batch=Batch(requests=2)))
    assert all(record.finished for record in outcome.records)


def test_the_clairvoyant_policy_cannot_be_asked_for():
    assert "opt" not in EVICTORS


def test_flops_keeps_what_is_deep():
    cache = tree(Setting(block=1, evictor=FLOPS, costs=Costs(prefill=1, attention=1)), 100)
    cache.insert(range(50), range(50))
    cache.insert([90, 91], [50, 51])
    cache.insert([92, 93], [52, 53])
    assert sorted(cache.evict(1)) == [50, 51]


def test_a_device_of_a_hundred_blocks_keeps_one_free():
    setting = Setting(slots=1_600, block=16)
    assert (setting.blocks, setting.reserve) == (100, 1)
