"""The block manager: what the course notes say of it, and what serving engines got wrong."""

import pytest

from nexemu.errors import KernelPanic, OutOfMemory
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.block_table import Copy

A1, A2, A3 = 1, 2, 3
FOUR, SCORE, AND, SEVEN, YEARS, AGO, OUR, FATHERS, MOTHERS = range(9)


@pytest.fixture
def make():
    made = []

    def manager(total, block_tokens, **how):
        made.append(BlockManager(total, block_tokens, **how))
        return made[-1]

    yield manager
    for each in made:
        each.audit()
        assert each.pool.free_blocks + each.pool.used_blocks == each.pool.total


def free_in_order(manager, *order):
    """Take all blocks and free these first, so that they are handed out first, in that order."""
    pool = manager.pool
    for _ in range(pool.total):
        pool.kalloc()
    for block in [*order, *(block for block in range(pool.total) if block not in order)]:
        pool.kfree(block)


# ---- the notes' example of copy-on-write ----------------------------------------------------------


def test_two_samples_share_a_prompt_until_one_of_them_writes(make):
    copies = []
    manager = make(8, 4, on_copy=copies.append)
    free_in_order(manager, 7, 1, 3)
    manager.allocate(A1, [FOUR, SCORE, AND, SEVEN, YEARS, AGO, OUR])
    manager.fork(A1, A2)
    assert list(manager.table(A1)) == list(manager.table(A2)) == [7, 1]
    assert (manager.pool.refcount(7), manager.pool.refcount(1)) == (2, 2)

    assert manager.append(A1, FATHERS) == 3
    assert copies == [Copy(source=1, target=3)]
    assert list(manager.table(A1)) == [7, 3]
    assert list(manager.table(A2)) == [7, 1]
    assert (manager.pool.refcount(1), manager.pool.refcount(3)) == (1, 1)

    assert manager.append(A2, MOTHERS) == 1
    assert len(copies) == 1
    assert list(manager.table(A2)) == [7, 1]
    assert list(manager.tokens(A1))[4:] == [YEARS, AGO, OUR, FATHERS]
    assert list(manager.tokens(A2))[4:] == [YEARS, AGO, OUR, MOTHERS]


def test_the_address_of_a_token_is_a_block_and_a_slot(make):
    manager = make(40, 16)
    free_in_order(manager, 9, 2, 31)
    manager.allocate(A1, range(38))
    assert manager.translate(A1, 37) == (31, 5)
    assert manager.translate(A1, 0) == (9, 0)


@pytest.mark.parametrize("position", [-1, 38])
def test_a_token_that_is_not_there_has_no_address(make, position):
    manager = make(3, 16)
    manager.allocate(A1, range(38))
    with pytest.raises(KernelPanic, match=f"no token {position}"):
        manager.translate(A1, position)


@pytest.mark.parametrize(
    ("prompt", "blocks_in_all", "by_full_copies"),
    [(1024, 64 + 8 * 13, 8 * (64 + 13)), (1010, 64 + 8 * 13 - 1, 8 * (64 + 12))],
)
def test_eight_samples_of_a_long_prompt(make, prompt, blocks_in_all, by_full_copies):
    """Each sample adds 200 tokens. Where the prompt ends within a block the last of the eight writes
    into the original, so that there are seven copies."""
    manager = make(1000, 16)
    manager.allocate(0, range(prompt))
    for sample in range(1, 8):
        manager.fork(0, sample)
    for token in range(200):
        for sample in range(8):
            manager.append(sample, token)
    assert manager.pool.used_blocks == blocks_in_all
    assert sum(len(manager.table(sample)) for sample in range(8)) == by_full_copies


def test_beam_search_copies_a_block_a_beam_at_most(make):
    """Four beams, a prompt of 1,000 tokens: 63 blocks. One beam wins and is forked three times: full copies
    would be 189 blocks, copy-on-write needs 3."""
    copies = []
    manager = make(300, 16, on_copy=copies.append)
    manager.allocate(0, range(1000))
    assert len(manager.table(0)) == 63
    for beam in (1, 2, 3):
        manager.fork(0, beam)
    for beam in range(4):
        manager.append(beam, beam)
    assert len(copies) == 3
    assert manager.pool.used_blocks == 66


# ---- fragmentation --------------------------------------------------------------------------------


def test_empty_slots_are_those_behind_the_last_token(make):
    manager = make(8, 4)
    assert manager.empty_slots == 0
    manager.allocate(A1, range(5))
    manager.allocate(A2, range(10, 14))
    assert manager.empty_slots == 3
    manager.fork(A1, A3)
    assert manager.empty_slots == 3
    manager.append(A3, 9)
    assert manager.empty_slots == 3 + 2


# ---- the prefix cache -----------------------------------------------------------------------------


def test_full_blocks_of_a_running_prompt_are_shared(make):
    manager = make(8, 4)
    assert manager.allocate(A1, range(10)) == 0
    assert manager.allocate(A2, [*range(8), 77, 78]) == 8
    assert list(manager.table(A2))[:2] == list(manager.table(A1))[:2]
    assert manager.pool.used_blocks == 4


def test_a_freed_prompt_is_found_again_while_its_blocks_last(make):
    manager = make(4, 4)
    manager.allocate(A1, range(12))
    first = list(manager.table(A1))
    manager.free(A1)
    assert manager.pool.used_blocks == 0
    assert manager.allocate(A2, range(12)) == 8
    assert list(manager.table(A2))[:2] == first[:2]


def test_a_block_that_is_used_again_is_forgotten(make):
    manager = make(2, 4)
    manager.allocate(A1, range(8))
    manager.free(A1)
    manager.allocate(A2, range(100, 108))
    manager.free(A2)
    assert manager.allocate(A3, range(8)) == 0


def test_the_end_of_a_freed_prompt_is_used_again_first(make):
    manager = make(4, 4)
    manager.allocate(A1, range(16))
    manager.free(A1)
    manager.allocate(A2, [99])
    manager.free(A2)
    assert manager.allocate(A3, range(16)) == 12


@pytest.mark.parametrize(("length", "hit"), [(7, 4), (8, 4), (9, 8)])
def test_the_last_token_is_always_computed(make, length, hit):
    """Else nothing would predict the next one: a prompt of exactly n blocks hits n - 1 of them."""
    manager = make(8, 4)
    manager.allocate(A1, range(12))
    assert manager.allocate(A2, range(length)) == hit


def test_generated_tokens_are_cached_like_prompts(make):
    manager = make(8, 4)
    manager.allocate(A1, range(3))
    for token in range(3, 9):
        manager.append(A1, token)
    assert manager.allocate(A2, range(9)) == 8


def test_a_fork_caches_its_own_continuation(make):
    manager = make(12, 2)
    manager.allocate(A1, [1, 2, 3])
    manager.fork(A1, A2)
    for child, token in ((A1, 10), (A2, 20)):
        manager.append(child, token)
        manager.append(child, 5)
    assert manager.allocate(A3, [1, 2, 3, 20, 5]) == 4
    assert list(manager.table(A3))[:2] == list(manager.table(A2))[:2]


def test_the_same_tokens_after_other_tokens_are_another_content(make):
    manager = make(8, 2)
    manager.allocate(A1, [1, 1, 5, 5])
    assert manager.allocate(A2, [2, 2, 5, 5, 0]) == 0


def test_namespaces_share_nothing(make):
    manager = make(12, 2, host_blocks=2)
    manager.allocate(A1, range(4), "a")
    assert not manager.cached_prefix(range(5))
    assert not manager.cached_prefix(range(5), "b")
    assert manager.cached_prefix(range(5), "a") == 4
    manager.swap_out(A1)
    manager.inflate(12)  # forgets what the freed blocks held
    manager.deflate(12)
    assert not manager.cached_prefix(range(5), "a")
    manager.swap_in(A1)
    manager.fork(A1, A2)
    manager.append(A2, 4)
    manager.append(A2, 5)
    assert manager.cached_prefix(range(7), "a") == 6
    assert not manager.cached_prefix(range(7))


def test_colliding_hashes_do_not_share(make):
    """Python hashes integers modulo 2**61 - 1."""
    manager = make(8, 2)
    twin = (1 << 61) - 1
    assert hash((0, 7)) == hash((twin, 7))
    manager.allocate(A1, [0, 7, 5, 5, 0])
    assert manager.allocate(A2, [twin, 7, 5, 5, 0]) == 0
    assert manager.allocate(A3, [twin, 7, 5, 5, 1]) == 4
    assert list(manager.table(A3))[:2] == list(manager.table(A2))[:2]


def test_without_a_prefix_cache_nothing_is_shared_but_by_fork(make):
    manager = make(8, 4, prefix_caching=False)
    manager.allocate(A1, range(9))
    assert manager.allocate(A2, range(9)) == 0
    assert manager.pool.used_blocks == 6


def test_hits_that_nobody_holds_count_as_taken(make):
    """The capacity check must know that sharing a freed block takes it from the free ones."""
    manager = make(4, 4)
    manager.allocate(A1, range(8))
    manager.free(A1)
    manager.allocate(A2, range(100, 104))
    assert manager.pool.free_blocks == 3
    prompt = [*range(8), *range(50, 58)]
    assert not manager.can_allocate(prompt)
    with pytest.raises(OutOfMemory):
        manager.allocate(A3, prompt)
    assert manager.pool.free_blocks == 3
    assert manager.allocate(A3, prompt[:12]) == 8


# ---- running out ----------------------------------------------------------------------------------


def test_a_prompt_that_does_not_fit_changes_nothing(make):
    manager = make(2, 4)
    with pytest.raises(OutOfMemory, match="no blocks for 9 tokens"):
        manager.allocate(A1, range(9))
    assert manager.pool.free_blocks == 2
    assert manager.allocate(A1, range(8)) == 0


def test_an_append_that_does_not_fit_changes_nothing(make):
    manager = make(1, 4)
    manager.allocate(A1, range(4))
    with pytest.raises(OutOfMemory):
        manager.append(A1, 4)
    assert list(manager.tokens(A1)) == [0, 1, 2, 3]


def test_a_copy_that_does_not_fit_changes_nothing(make):
    manager = make(1, 4)
    manager.allocate(A1, range(3))
    manager.fork(A1, A2)
    with pytest.raises(OutOfMemory):
        manager.append(A2, 4)
    assert list(manager.tokens(A2)) == [0, 1, 2]
    manager.free(A1)
    assert manager.append(A2, 4) == 0


def test_the_watermark_is_left_by_admission_and_used_by_growth(make):
    manager = make(4, 4, watermark=2)
    assert manager.can_allocate(range(8))
    assert not manager.can_allocate(range(9))
    manager.allocate(A1, range(8))
    for token in range(8):
        manager.append(A1, token)
    assert manager.pool.free_blocks == 0


# ---- swapping -------------------------------------------------------------------------------------


def test_a_sequence_goes_to_the_host_and_comes_back(make):
    manager = make(4, 4, host_blocks=2)
    manager.allocate(A1, range(7))
    assert manager.swap_out(A1) == [Copy(0, 0), Copy(1, 1)]
    assert (manager.pool.used_blocks, manager.host.used_blocks) == (0, 2)
    manager.allocate(A2, range(50, 58))
    assert manager.swap_in(A1) == [Copy(0, 1), Copy(1, 0)]
    assert (manager.pool.used_blocks, manager.host.used_blocks) == (4, 0)
    assert list(manager.tokens(A1)) == list(range(7))
    manager.append(A1, 7)


def test_what_is_shared_stays_for_the_others(make):
    manager = make(4, 4, host_blocks=2)
    manager.allocate(A1, range(7))
    manager.fork(A1, A2)
    manager.swap_out(A1)
    assert list(manager.table(A2)) == [0, 1]
    assert manager.append(A2, 7) == 1
    manager.swap_in(A1)
    assert list(manager.tokens(A1)) == list(range(7))


def test_a_sequence_that_came_back_is_found_by_its_prefix(make):
    manager = make(2, 4, host_blocks=2)
    manager.allocate(A1, range(8))
    manager.swap_out(A1)
    manager.allocate(A2, range(50, 58))
    manager.free(A2)
    manager.swap_in(A1)
    manager.fork(A1, A2)
    manager.free(A1)
    manager.free(A2)
    assert manager.allocate(A3, range(8)) == 4


def test_swapping_without_room_changes_nothing(make):
    manager = make(2, 4, host_blocks=1)
    manager.allocate(A1, range(8))
    with pytest.raises(OutOfMemory, match="no room for 2 blocks"):
        manager.swap_out(A1)
    assert list(manager.table(A1)) == [0, 1]
    manager.free(A1)
    manager.allocate(A1, range(4))
    manager.swap_out(A1)
    manager.allocate(A2, range(50, 58))
    assert not manager.can_swap_in(A1)
    with pytest.raises(OutOfMemory):
        manager.swap_in(A1)
    manager.free(A2)
    assert manager.can_swap_in(A1)


def test_a_swapped_sequence_can_be_freed(make):
    manager = make(2, 4, host_blocks=2)
    manager.allocate(A1, range(8))
    manager.swap_out(A1)
    manager.free(A1)
    assert manager.host.free_blocks == 2


# ---- misuse ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "misuse",
    [
        lambda manager: manager.free(A2),
        lambda manager: manager.append(A2, 0),
        lambda manager: manager.table(A2),
        lambda manager: manager.swap_out(A2),
        lambda manager: manager.swap_in(A1),
        lambda manager: manager.allocate(A1, [1]),
        lambda manager: manager.fork(A1, A1),
        lambda manager: manager.fork(A2, A3),
    ],
)
def test_misuse_panics(make, misuse):
    manager = make(4, 4, host_blocks=4)
    manager.allocate(A1, range(6))
    with pytest.raises(KernelPanic):
        misuse(manager)


def test_a_sequence_is_not_freed_twice(make):
    manager = make(4, 4)
    manager.allocate(A1, range(6))
    manager.free(A1)
    with pytest.raises(KernelPanic, match="sequence 1 is not on the device"):
        manager.free(A1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda manager: manager._tables[A1].blocks.pop(),
        lambda manager: manager._tables[A1].tokens.extend([0, 0, 0]),
        lambda manager: manager._tables[A1].tokens.insert(0, 9),
        lambda manager: manager.pool.kalloc(),
        lambda manager: manager.host.kalloc(),
        lambda manager: manager.index.forget(manager.table(A1)[0]),
        lambda manager: manager.index._names.update({3: (2, 0, 0, 0)}),
        lambda manager: manager.index._blocks.update({1: (1,)}),
        lambda manager: manager.index._blocks.popitem(),
    ],
)
def test_the_audit_sees_damage(damage):
    manager = BlockManager(4, 3, host_blocks=1)
    manager.allocate(A1, range(7))
    manager.audit()
    damage(manager)
    with pytest.raises(KernelPanic, match="audit"):
        manager.audit()


# ---- the balloon ----------------------------------------------------------------------------------


def test_a_balloon_takes_free_blocks_and_gives_them_back(make):
    manager = make(4, 4)
    manager.allocate(A1, range(8))
    manager.free(A1)
    assert manager.inflate(3) == 3
    assert manager.inflate(3) == 1
    assert not manager.can_allocate([1])
    manager.audit()
    assert manager.deflate(1) == 1
    assert manager.allocate(A2, range(4)) == 0
    assert manager.deflate(9) == 3


def test_a_balloon_leaves_what_is_held(make):
    manager = make(4, 4)
    manager.allocate(A1, range(8))
    assert manager.inflate(9) == 2
    assert list(manager.table(A1)) == [0, 1]
