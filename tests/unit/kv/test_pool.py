import pytest

from nexemu.errors import KernelPanic, OutOfMemory
from nexemu.kv.pool import BlockPool


def test_blocks_are_handed_out_in_order_and_then_the_one_freed_first():
    pool = BlockPool(3)
    assert [pool.kalloc() for _ in range(3)] == [0, 1, 2]
    for block in (1, 0, 2):
        pool.kfree(block)
    assert [pool.kalloc() for _ in range(3)] == [1, 0, 2]


def test_free_and_used_are_the_total():
    pool = BlockPool(5)
    pool.kalloc()
    pool.kalloc()
    assert (pool.free_blocks, pool.used_blocks, pool.total) == (3, 2, 5)


def test_no_block_left():
    pool = BlockPool(1)
    pool.kalloc()
    with pytest.raises(OutOfMemory, match="no block left"):
        pool.kalloc()
    pool.audit([0])


def test_the_last_holder_gives_a_block_back():
    pool = BlockPool(1)
    block = pool.kalloc()
    pool.incref(block)
    pool.kfree(block)
    assert (pool.refcount(block), pool.free_blocks) == (1, 0)
    pool.kfree(block)
    assert (pool.refcount(block), pool.free_blocks) == (0, 1)


@pytest.mark.parametrize("block", [-1, 1, 2])
@pytest.mark.parametrize("verb", ["incref", "kfree"])
def test_only_a_held_block_is_shared_or_freed(verb, block):
    pool = BlockPool(2)
    pool.kalloc()
    with pytest.raises(KernelPanic, match=f"{verb}: nobody holds block {block}"):
        getattr(pool, verb)(block)


def test_a_block_is_not_freed_twice():
    pool = BlockPool(1)
    pool.kfree(pool.kalloc())
    with pytest.raises(KernelPanic, match="kfree: nobody holds block 0"):
        pool.kfree(0)


def test_a_free_block_can_be_revived_out_of_turn():
    pool = BlockPool(3)
    pool.revive(1)
    assert [pool.kalloc(), pool.kalloc()] == [0, 2]
    pool.audit([0, 1, 2])


def test_a_block_can_be_held_whether_it_is_free_or_not():
    pool = BlockPool(2)
    assert [pool.hold(1), pool.hold(1)] == [1, 1]
    assert (pool.refcount(1), pool.kalloc()) == (2, 0)


@pytest.mark.parametrize("block", [-1, 0, 2])
def test_only_a_free_block_is_revived(block):
    pool = BlockPool(2)
    pool.kalloc()
    with pytest.raises(KernelPanic, match=f"revive: block {block} is not free"):
        pool.revive(block)


def test_a_sole_owner_keeps_the_block_when_it_unshares():
    pool = BlockPool(2)
    block = pool.kalloc()
    assert pool.unshare(block) == block
    assert pool.used_blocks == 1


def test_a_sharer_gets_another_block_and_leaves_its_hold():
    pool = BlockPool(2)
    block = pool.kalloc()
    pool.incref(block)
    copy = pool.unshare(block)
    assert copy != block
    assert (pool.refcount(block), pool.refcount(copy)) == (1, 1)


def test_unshare_without_a_block_left_changes_nothing():
    pool = BlockPool(1)
    block = pool.kalloc()
    pool.incref(block)
    with pytest.raises(OutOfMemory):
        pool.unshare(block)
    assert pool.refcount(block) == 2


def lose_a_count(pool):
    pool.refs[0] = 2


def free_a_held_block(pool):
    pool._free[0] = None


def lose_a_free_block(pool):
    del pool._free[1]


def invent_a_block(pool):
    pool._free[9] = None


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lose_a_count, "block 0 has count 2, 1 hold it"),
        (free_a_held_block, "block 0 has count 1, in the free queue: True"),
        (lose_a_free_block, "block 1 has count 0, in the free queue: False"),
        (invent_a_block, "there is no block 9"),
    ],
)
def test_the_audit_sees_damage(damage, complaint):
    pool = BlockPool(2)
    pool.kalloc()
    pool.audit([0])
    damage(pool)
    with pytest.raises(KernelPanic, match=complaint):
        pool.audit([0])


def test_the_audit_sees_a_holder_of_no_block():
    with pytest.raises(KernelPanic, match="there is no block 7"):
        BlockPool(2).audit([7])
