"""sbrk: ABI.md section 4, both settings."""

import pytest
from support import peek, pte, resident

from nexemu.errors import BadCall, OutOfMemory
from nexemu.events import Sbrk
from nexemu.mem.area import Area
from nexemu.mem.grow import uvmalloc
from nexemu.mem.usercopy import copyin, copyout
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import PGSIZE, PTE_A, PTE_R, PTE_U, PTE_V, PTE_W

BASE = 4 * PGSIZE
GIB = 1 << 30


@pytest.fixture(params=[False, True], ids=["eager", "lazy"])
def grown(make_memory, request):
    """A memory and a space whose break is at BASE, with the low region's tables made."""
    memory = make_memory(lazy=request.param)
    space = memory.space()
    space.table.walk(0)
    space.size = BASE
    return memory, space


@pytest.fixture
def eager(make_memory):
    memory = make_memory(lazy=False)
    space = memory.space()
    space.table.walk(0)
    space.size = BASE
    return memory, space


def state(memory, space):
    return (space.size, memory.free, [leaf.pte for leaf in space.table.leaves()])


# ---- growing ----------------------------------------------------------------------------------


def test_sbrk_returns_the_old_break_and_moves_it_by_exactly_n(grown):
    memory, space = grown
    assert memory.grow(space, 100) == BASE
    assert memory.grow(space, 0) == BASE + 100
    assert memory.grow(space, 5000) == BASE + 100
    assert space.size == BASE + 5100


def test_lazy_growth_moves_the_break_only(make_memory):
    memory = make_memory(lazy=True)
    space = memory.space()
    before = memory.free
    memory.grow(space, 100 * GIB)
    assert (memory.free, resident(space)) == (before, 0)


@pytest.mark.parametrize(
    ("steps", "pages"),
    [([1], 1), ([4096], 1), ([4097], 2), ([100, 3996], 1), ([100, 3997], 2), ([0], 0), ([4095, 1, 1], 2)],
)
def test_eager_growth_maps_each_page_once_zeroed_readable_and_writable(eager, steps, pages):
    memory, space = eager
    before = memory.free
    for n in steps:
        memory.grow(space, n)
    assert before - memory.free == pages == resident(space)
    for page in range(pages):
        assert pte(space, BASE + page * PGSIZE) & 0xFF == PTE_V | PTE_R | PTE_W | PTE_U
        assert peek(space, BASE + page * PGSIZE, PGSIZE) == bytes(PGSIZE)


def test_growing_within_a_page_keeps_its_bytes(grown):
    memory, space = grown
    memory.grow(space, 100)
    copyout(space, BASE, b"k" * 100)
    memory.grow(space, 8000)
    assert copyin(space, BASE, 110) == b"k" * 100 + bytes(10)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 11])
def test_eager_growth_that_runs_out_undoes_itself(eager, n):
    """Ten pages across a 2 MiB boundary: eleven allocations, one of them a table."""
    memory, space = eager
    space.size = (2 << 20) - 5 * PGSIZE
    before = state(memory, space)
    memory.frames.fail_at = n
    with pytest.raises(OutOfMemory):
        memory.grow(space, 10 * PGSIZE)
    size, free, leaves = state(memory, space)
    assert (size, leaves) == (before[0], before[2])
    assert before[1] - free <= 1, "a page-table page may stay"
    memory.grow(space, 10 * PGSIZE)
    assert resident(space) == 10


def test_eager_growth_beyond_ram_fails_and_all_of_ram_can_then_be_had(eager):
    memory, space = eager
    before = state(memory, space)
    with pytest.raises(OutOfMemory):
        memory.grow(space, 1 << 30)
    assert state(memory, space)[0] == before[0]
    tables = 1  # 1024 pages need the region's table and two more, of which the failure left some
    rest = memory.free - tables
    memory.grow(space, rest * PGSIZE)
    assert resident(space) == rest


# ---- limits -----------------------------------------------------------------------------------


def refused(memory, space, n):
    before = state(memory, space)
    with pytest.raises(BadCall):
        memory.grow(space, n)
    assert state(memory, space) == before


@pytest.mark.parametrize("n", [-BASE - 1, -(1 << 31), -BASE - PGSIZE])
def test_a_break_below_zero_is_refused(grown, n):
    refused(*grown, n)


def test_the_break_may_go_to_zero(grown):
    memory, space = grown
    memory.grow(space, -BASE)
    assert space.size == 0


def test_the_break_may_reach_the_trapframe_and_not_pass_it(make_memory):
    memory = make_memory(lazy=True)
    space = memory.space()
    space.size = TRAPFRAME - 5
    refused(memory, space, 6)
    memory.grow(space, 5)
    assert space.size == 0x3F_FFFF_E000
    refused(memory, space, 1)
    refused(memory, space, (1 << 31) - 1)


def test_the_lowest_area_is_the_limit(grown):
    memory, space = grown
    space.areas.append(Area(BASE + 3 * PGSIZE, PGSIZE, 1))
    refused(memory, space, 3 * PGSIZE + 1)
    memory.grow(space, 3 * PGSIZE)
    refused(memory, space, 1)


# ---- shrinking --------------------------------------------------------------------------------


@pytest.fixture
def filled(grown):
    """Eight pages above BASE, all of them filled."""
    memory, space = grown
    memory.grow(space, 8 * PGSIZE)
    copyout(space, BASE, b"f" * 8 * PGSIZE)
    return memory, space


@pytest.mark.parametrize(("n", "pages"), [(1, 0), (4095, 0), (4096, 1), (4097, 1), (8192, 2), (8 * 4096, 8)])
def test_shrinking_frees_whole_pages_at_once_and_no_part_of_one(filled, n, pages):
    memory, space = filled
    before = memory.free
    assert memory.grow(space, -n) == BASE + 8 * PGSIZE
    assert memory.free - before == pages
    assert resident(space) == 8 - pages


def test_regrown_pages_are_zero_and_the_page_that_stayed_is_not(filled):
    memory, space = filled
    memory.grow(space, -PGSIZE - 10)
    memory.grow(space, PGSIZE + 10)
    assert copyin(space, BASE + 6 * PGSIZE, PGSIZE) == b"f" * PGSIZE, "a partial page keeps its bytes"
    assert copyin(space, BASE + 7 * PGSIZE, PGSIZE) == bytes(PGSIZE)


def test_down_and_up_inside_a_page_moves_no_frame(filled):
    memory, space = filled
    before = state(memory, space)[1:]
    memory.grow(space, -1)
    memory.grow(space, 1)
    assert state(memory, space)[1:] == before


def test_shrinking_skips_holes_and_keeps_the_tables(make_memory):
    """CASES 3: 64 MiB with three pages touched, each in a region of its own."""
    memory = make_memory(lazy=True)
    space = memory.space()
    space.table.walk(0)
    space.size = BASE
    before = memory.free
    memory.grow(space, 64 << 20)
    assert memory.free == before
    for page in (1000, 8191, 16383):
        copyout(space, BASE + page * PGSIZE, b"t")
    assert resident(space) == 3
    assert before - memory.free == 3 + 3
    memory.grow(space, -(64 << 20))
    assert resident(space) == 0
    assert before - memory.free == 3


def test_shrinking_makes_the_tlb_stale(filled):
    memory, space = filled
    before = space.epoch
    memory.grow(space, -PGSIZE)
    assert space.epoch > before


def test_a_page_shared_with_a_child_is_only_let_go(make_memory):
    memory = make_memory()
    space = memory.space()
    memory.grow(space, PGSIZE)
    copyout(space, 0, b"s")
    child = memory.fork(space)
    before = memory.free
    memory.grow(space, -PGSIZE)
    assert memory.free == before
    assert copyin(child, 0, 1) == b"s"


# ---- what a listener learns -------------------------------------------------------------------


def test_each_sbrk_says_what_it_changed_now(eager):
    memory, space = eager
    memory.grow(space, 2 * PGSIZE + 1)
    memory.grow(space, -PGSIZE)
    memory.grow(space, 0)
    assert memory.events.of(Sbrk) == [
        Sbrk(space.pid, BASE, BASE + 2 * PGSIZE + 1, 3, 0),
        Sbrk(space.pid, BASE + 2 * PGSIZE + 1, BASE + PGSIZE + 1, 0, 1),
        Sbrk(space.pid, BASE + PGSIZE + 1, BASE + PGSIZE + 1, 0, 0),
    ]


def test_uvmalloc_maps_with_the_flags_it_is_given(eager):
    _, space = eager
    assert uvmalloc(space, 10 * PGSIZE, 12 * PGSIZE, PTE_R | PTE_A) == 2
    assert pte(space, 11 * PGSIZE) & 0xFF == PTE_V | PTE_R | PTE_A
    assert uvmalloc(space, 12 * PGSIZE, 12 * PGSIZE, PTE_R) == 0
    assert uvmalloc(space, 12 * PGSIZE - 1, 12 * PGSIZE, PTE_R) == 0
