"""What a handler can do to the machine, and what it cannot."""

import pytest

from nexemu.errors import KernelPanic, OutOfMemory
from nexemu.grade.kit import Space
from nexemu.grade.student.primitives import CALL_BUDGET, OutOfBudget, Primitives
from nexemu.mem.builtin import BUILTIN
from nexemu.mem.grow import uvmalloc
from nexemu.memlayout import TRAMPOLINE, TRAPFRAME
from nexemu.riscv import PGSIZE, PTE_COW, PTE_R, PTE_U, PTE_V, PTE_W, pa2pte, pte2pa

RW = PTE_R | PTE_W | PTE_U
HEAP = 4 * PGSIZE


@pytest.fixture
def memory(make_memory):
    return make_memory(handler=BUILTIN)


@pytest.fixture
def space(memory):
    """A process of four loaded pages, whose break is above them."""
    space = memory.space()
    uvmalloc(space, 0, HEAP, RW)
    space.size = HEAP
    return space


@pytest.fixture
def hands(memory):
    return Primitives(memory.frames, limited=True)


@pytest.fixture
def mine(hands, space):
    """What the handler sees of ``space``."""
    return Space(hands, *hands.begin([space]))


def tidy(space):
    """Take away what a test has mapped above the break."""
    space.table.unmap(space.size, TRAPFRAME, space.frames.kfree_leaves)


def test_it_sees_the_process(mine, space):
    assert (mine.pid, mine.size, mine.limit) == (space.pid, HEAP, TRAPFRAME)
    assert mine.walk(PGSIZE + 5) == space.table.pte(PGSIZE)
    assert mine.walk(1 << 63) == 0
    assert mine.pages(PGSIZE, 1 << 40) == [(va, space.table.pte(va)) for va in range(PGSIZE, HEAP, PGSIZE)]


def test_it_moves_the_break(mine, space):
    mine.size = HEAP + 5
    assert space.size == HEAP + 5
    mine.size = HEAP


def test_it_maps_a_frame_of_its_own(mine, space, memory):
    free = memory.free
    pa = mine.kalloc()
    assert memory.ram.read(pa, 2) == b"\5\5"
    mine.memset(pa, 0)
    assert memory.ram.read(pa, PGSIZE) == bytes(PGSIZE)
    mine.mappages(HEAP, PGSIZE, pa, RW)
    assert space.table.pte(HEAP) == pa2pte(pa) | RW | PTE_V
    assert mine.uvmunmap(HEAP, 2, do_free=True) == 1
    assert memory.free == free


def test_unmapping_makes_the_hart_forget(mine, space):
    before = space.epoch
    mine.uvmunmap(HEAP, 1, do_free=True)
    assert space.epoch == before + 1
    mine.sfence_vma()
    assert space.epoch == before + 2


def test_it_counts(mine, memory):
    pa = mine.kalloc()
    mine.incref(pa)
    assert mine.refcount(pa) == memory.frames.refcount(pa) == 2
    mine.kfree(pa)
    mine.kfree(pa)
    assert memory.frames.refcount(pa) == 0


def test_it_may_copy_what_it_has_just_freed(mine, space, memory):
    old = pte2pa(space.table.pte(0))
    memory.ram.write(old, b"old")
    mine.kfree(old)
    new = mine.kalloc()
    assert new == old, "the frame that was freed last comes first"
    mine.memmove(new, old)
    assert memory.ram.read(new, 3) == b"\5\5\5", "its bytes are gone"


def test_it_may_free_what_it_has_unmapped(mine, space, memory):
    pa = pte2pa(space.table.pte(0))
    mine.uvmunmap(0, 1, do_free=False)
    mine.kfree(pa)
    assert memory.frames.refcount(pa) == 0


def test_it_may_free_what_it_has_replaced(mine, space, memory):
    old, new = pte2pa(space.table.pte(0)), mine.kalloc()
    mine.setpte(0, pa2pte(new) | RW | PTE_V)
    mine.kfree(old)
    assert memory.frames.refcount(old) == 0


def panics(do, *arguments):
    with pytest.raises(KernelPanic) as caught:
        do(*arguments)
    return str(caught.value)


def test_it_cannot_name_the_kernels_frames(mine, space, memory):
    kernels = [*space.table.table_frames(), memory.trampoline, pte2pa(space.table.pte(TRAPFRAME)), 0, 1 << 40]
    for pa in kernels:
        for do in (mine.kfree, mine.incref, mine.refcount):
            assert "is not the frame of a user page" in panics(do, pa)
        assert "is not the frame of a user page" in panics(mine.setpte, HEAP, pa2pte(pa) | RW | PTE_V)
        assert "was not allocated in this call" in panics(mine.memset, pa, 0)


def test_it_cannot_name_another_process(mine, memory, space):
    other = memory.space()
    uvmalloc(other, 0, PGSIZE, RW)
    other.size = PGSIZE
    assert "is not the frame of a user page" in panics(mine.incref, pte2pa(other.table.pte(0)))


def test_it_cannot_write_what_a_program_can_see(mine, space, hands):
    assert "was not allocated in this call" in panics(mine.memset, pte2pa(space.table.pte(0)), 0)
    pa = mine.kalloc()
    mine.mappages(HEAP, PGSIZE, pa, RW)
    later = Space(hands, *hands.begin([space]))
    assert "was not allocated in this call" in panics(later.memset, pa, 0)
    tidy(space)


def test_it_cannot_leave_user_memory(mine):
    for va in (TRAPFRAME, TRAMPOLINE, 1 << 38, (1 << 64) - 1):
        assert "above the highest break" in panics(mine.setpte, va, 0)
    assert "above the highest break" in panics(mine.uvmunmap, TRAPFRAME - PGSIZE, 2, True)
    assert "above the highest break" in panics(setattr, mine, "size", TRAPFRAME + 1)
    pa = mine.kalloc()
    assert "above the highest break" in panics(mine.mappages, TRAPFRAME, PGSIZE, pa, RW)
    mine.kfree(pa)


def test_it_cannot_make_ptes_that_are_none(mine):
    assert "reserved bits" in panics(mine.setpte, 0, 1 << 60)
    pa = mine.kalloc()
    assert "more than flags" in panics(mine.mappages, HEAP, PGSIZE, pa, 1 << 20)
    assert "not aligned" in panics(mine.mappages, HEAP + 1, PGSIZE, pa, RW)
    assert "remap" in panics(mine.mappages, 0, PGSIZE, pa, RW)
    mine.kfree(pa)
    assert "is not the frame of a user page" in panics(mine.kfree, pa)


def test_a_space_ends_with_its_call(mine, hands, space):
    hands.begin([space])
    assert panics(mine.walk, 0) == "walk: this Space belongs to a call that is over"


def test_running_out_of_memory_is_no_panic(mine, memory):
    memory.frames.fail_at = 1
    with pytest.raises(OutOfMemory):
        mine.kalloc()


def test_numbers_have_64_bits_and_no_sign(mine):
    with pytest.raises(ValueError, match="walk: numbers have 64 bits and no sign"):
        mine.walk(-1)
    with pytest.raises(ValueError, match="setpte"):
        mine.setpte(0, 1 << 64)
    with pytest.raises(ValueError, match="pages: numbers have 64 bits and no sign"):
        mine.pages(-PGSIZE, PGSIZE)
    with pytest.raises(TypeError):
        mine.walk("0")


def test_a_call_has_a_budget(hands, space):
    mine = Space(hands, *hands.begin([space]))
    for _ in range(CALL_BUDGET):
        mine.walk(0)
    with pytest.raises(OutOfBudget):
        mine.walk(0)
    assert Space(hands, *hands.begin([space])).walk(0), "the next call has its own"


def test_two_spaces_share_frames(hands, space, memory):
    child = memory.space()
    parent_side, child_side = (Space(hands, handle) for handle in hands.begin([space, child]))
    for va, pte in parent_side.pages(0, HEAP):
        child_side.setpte(va, pte & ~PTE_W | PTE_COW)
        parent_side.incref(pte2pa(pte))
    child_side.size = parent_side.size
    assert [pte2pa(child.table.pte(va)) for va in range(0, HEAP, PGSIZE)] == [
        pte2pa(space.table.pte(va)) for va in range(0, HEAP, PGSIZE)
    ]


def test_many_pages_cost_more_than_few(hands, space):
    uvmalloc(space, HEAP, HEAP + 64 * PGSIZE, RW)
    space.size += 64 * PGSIZE
    mine = Space(hands, *hands.begin([space]))
    for _ in range(CALL_BUDGET // (1 + 2 * 68 // 16)):
        mine.pages(0, HEAP + 64 * PGSIZE)
    with pytest.raises(OutOfBudget):
        mine.pages(0, HEAP + 64 * PGSIZE)
