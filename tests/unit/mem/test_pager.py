"""Pages that leave for the swap area and come back: the same bytes, the same rights, the same sharing."""

import pytest
from paging_support import (
    ONLINE,
    Choice,
    PagedMemory,
    content,
    fill,
    holds,
    is_in,
    is_out,
    user_load,
    user_store,
)
from support import count_of, pte

from nexemu.abi import PROT_READ, PROT_WRITE
from nexemu.errors import BadAddress, OutOfMemory
from nexemu.events import PageFault
from nexemu.mem.area import Area
from nexemu.mem.grow import uvmalloc
from nexemu.mem.rmap import page_number
from nexemu.mem.usercopy import copyin, copyinstr, copyout
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import (
    PGSIZE,
    PTE_A,
    PTE_COW,
    PTE_D,
    PTE_R,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    Access,
    pte2pa,
)

LEAST = 70
"""Frames beside the kernel's: what a RAM must have at the least is 64."""


@pytest.fixture
def make_paged():
    made = []

    def make(pages=LEAST, **how):
        made.append(PagedMemory(pages, **how))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.fixture
def chosen(make_paged):
    """A memory whose policy does as it is told, and a space of 200 pages in it."""
    memory = make_paged(policy=Choice())
    space = memory.space()
    memory.grow(space, 200 * PGSIZE)
    return memory, space


def press(memory, space, *numbers):
    """Make the pages ``numbers`` of ``space`` leave: take all frames there are, and one for each of them."""
    memory.evictor.order = [page_number(space, number * PGSIZE) for number in numbers]
    taken = [memory.frames.kalloc() for _ in range(memory.free + len(numbers))]
    memory.evictor.order = []
    for frame in taken:
        memory.frames.kfree(frame)
    assert all(is_out(space, number) for number in numbers)


# ---- every page comes back ---------------------------------------------------------------------


@pytest.mark.parametrize("cow", [False, True])
@pytest.mark.parametrize("policy", ONLINE)
def test_three_times_as_many_pages_as_frames(make_paged, policy, cow):
    memory = make_paged(policy=policy, cow=cow)
    space = memory.space()
    memory.grow(space, 3 * LEAST * PGSIZE)
    fill(space, 3 * LEAST)
    memory.audit()
    assert holds(space, 3 * LEAST)
    fill(space, LEAST, first=LEAST, word=2)
    assert holds(space, LEAST)
    assert holds(space, LEAST, first=LEAST, word=2)
    assert holds(space, LEAST, first=2 * LEAST)
    memory.audit()


@pytest.mark.parametrize("policy", ONLINE)
def test_a_fork_of_more_pages_than_frames_and_both_write(make_paged, policy):
    for cow in (False, True):
        memory = make_paged(policy=policy, cow=cow)
        parent = memory.space()
        memory.grow(parent, 100 * PGSIZE)
        fill(parent, 100)
        child = memory.fork(parent)
        fill(child, 50, word=7)
        fill(parent, 50, first=50, word=8)
        memory.audit()
        assert holds(parent, 50)
        assert holds(parent, 50, first=50, word=8)
        assert holds(child, 50, word=7)
        assert holds(child, 50, first=50)
        memory.audit()


def test_eager_sbrk_of_more_pages_than_frames(make_paged):
    memory = make_paged(lazy=False)
    space = memory.space()
    memory.grow(space, 150 * PGSIZE)
    fill(space, 150)
    assert holds(space, 150)


# ---- one page ---------------------------------------------------------------------------------


def test_a_page_that_is_out_keeps_its_rights_and_comes_back_with_them(chosen):
    memory, space = chosen
    fill(space, 1)
    before = pte(space, 0)
    press(memory, space, 0)
    out = pte(space, 0)
    assert not out & PTE_V
    assert out & (PTE_R | PTE_W | PTE_U) == PTE_R | PTE_W | PTE_U
    assert not out & (PTE_A | PTE_D)
    assert copyin(space, 0, PGSIZE) == content(0)
    assert pte(space, 0) & 0x3FF == before & 0x3FF & ~PTE_D
    (fault,) = [event for event in memory.events.of(PageFault) if event.kind == "swap"]
    assert (fault.va, fault.access, fault.by, fault.pte_before) == (0, "read", "kernel", out)


def test_a_page_that_is_out_counts_as_mapped(chosen):
    memory, space = chosen
    fill(space, 3)
    mapped = space.mapped_pages()
    press(memory, space, 0, 2)
    assert space.mapped_pages() == mapped == 3


def test_the_hart_must_forget_a_page_that_leaves(chosen):
    memory, space = chosen
    fill(space, 1)
    epoch, flushes = space.epoch, memory.flushes
    press(memory, space, 0)
    assert space.epoch > epoch
    assert memory.flushes > flushes


def test_a_clean_page_that_is_in_the_swap_area_is_not_written_again(chosen):
    memory, space = chosen
    fill(space, 1)
    press(memory, space, 0)
    assert memory.swap.stores == 1
    for _ in range(3):
        assert user_load(space, 4) == 0
        press(memory, space, 0)
    assert memory.swap.stores == 1
    assert memory.swap.loads == 3
    assert holds(space, 1)


@pytest.mark.parametrize("store", ["user", "kernel"])
def test_a_page_that_was_written_is_written_again(chosen, store):
    memory, space = chosen
    fill(space, 1)
    press(memory, space, 0)
    for byte in (5, 6):
        assert user_load(space, 9) == (0 if byte == 5 else 5)
        if store == "user":
            user_store(space, 9, byte)
        else:
            copyout(space, 9, bytes([byte]))
        press(memory, space, 0)
        assert user_load(space, 9) == byte
    assert memory.swap.stores == 3
    assert memory.swap.used == 1, "the slot of the old content was given back"


def test_a_store_to_a_page_that_is_out_makes_it_dirty(chosen):
    memory, space = chosen
    fill(space, 1)
    press(memory, space, 0)
    user_store(space, 9, 5)
    press(memory, space, 0)
    assert memory.swap.stores == 2
    assert user_load(space, 9) == 5


def test_the_policy_asks_for_dirty_and_for_accessed_bits(chosen):
    memory, space = chosen
    fill(space, 2)
    press(memory, space, 0, 1)
    user_load(space, 0)
    user_store(space, PGSIZE, 1)
    zero, one = page_number(space, 0), page_number(space, PGSIZE)
    assert (memory.pager.dirty(zero), memory.pager.dirty(one)) == (False, True)
    epoch = space.epoch
    assert (memory.pager.accessed(zero), memory.pager.accessed(zero)) == (True, False)
    assert space.epoch > epoch, "or the hart would not set the bit again"
    user_load(space, 0)
    assert memory.pager.accessed(zero)


def test_the_policy_learns_which_page_comes_in(chosen):
    memory, space = chosen
    fill(space, 1)
    press(memory, space, 0)
    taken = [memory.frames.kalloc() for _ in range(memory.free)]
    copyout(space, PGSIZE, b"x") if memory.free else None
    memory.evictor.asked.clear()
    for frame in taken[:1]:
        memory.frames.kfree(frame)
    fill(space, 1, first=1)
    user_load(space, 0)
    assert memory.evictor.asked == [page_number(space, 0)]
    for frame in taken[1:]:
        memory.frames.kfree(frame)


# ---- pages that must stay -----------------------------------------------------------------------


def test_the_source_of_a_copy_stays_while_it_is_copied(chosen):
    memory, space = chosen
    fill(space, 2)
    child = memory.fork(space)
    taken = [memory.frames.kalloc() for _ in range(memory.free)]
    memory.evictor.order = [page_number(space, 0)]
    user_store(space, 8, 9)  # needs a frame, and its own page would be the policy's first choice
    assert user_load(child, 8) == 0
    assert user_load(space, 8) == 9
    for frame in taken:
        memory.frames.kfree(frame)


def test_guard_pages_tables_and_trapframes_never_leave(chosen):
    memory, space = chosen
    uvmalloc(space, 300 * PGSIZE, 301 * PGSIZE, PTE_R | PTE_W)
    fill(space, 1)
    press(memory, space, 0)
    with pytest.raises(OutOfMemory, match="no page that could leave"):
        [memory.frames.kalloc() for _ in range(memory.frames.total)]
    assert pte(space, 300 * PGSIZE) & PTE_V
    assert pte(space, TRAPFRAME) & PTE_V
    kept = [*space.table.table_frames(), pte2pa(pte(space, 300 * PGSIZE)), pte2pa(pte(space, TRAPFRAME))]
    for frame in range(memory.ram.base + 256 * PGSIZE, memory.ram.end, PGSIZE):
        if frame not in kept and frame != memory.trampoline:
            memory.frames.kfree(frame)


# ---- sharing ----------------------------------------------------------------------------------


def test_shared_pages_leave_together_and_are_shared_again(chosen):
    memory, parent = chosen
    fill(parent, 1)
    child, other = memory.fork(parent), memory.fork(parent)
    press(memory, parent, 0)
    assert is_out(child, 0)
    assert is_out(other, 0)
    assert memory.swap.stores == 1
    assert user_load(child, 0) == 0
    assert is_out(parent, 0)
    assert user_load(parent, 0) == 0
    assert count_of(parent, 0) == count_of(child, 0) == 2
    assert pte2pa(pte(parent, 0)) == pte2pa(pte(child, 0))
    assert memory.swap.loads == 1
    press(memory, child, 0)
    assert is_out(parent, 0)
    assert memory.swap.stores == 1
    assert holds(other, 1)
    assert holds(parent, 1)
    assert holds(child, 1)
    assert count_of(other, 0) == 3


def test_a_store_to_a_shared_page_that_is_out_splits_it(chosen):
    memory, parent = chosen
    fill(parent, 1)
    child = memory.fork(parent)
    press(memory, parent, 0)
    user_store(child, 8, 77)
    assert is_out(parent, 0)
    assert pte(child, 0) & (PTE_W | PTE_D | PTE_COW) == PTE_W | PTE_D
    memory.audit()
    assert user_load(parent, 8) == 0
    assert pte2pa(pte(parent, 0)) != pte2pa(pte(child, 0))
    press(memory, child, 0)
    assert user_load(child, 8) == 77
    user_store(parent, 8, 78)
    assert (user_load(child, 8), user_load(parent, 8)) == (77, 78)


def test_the_last_owner_of_a_page_that_is_in_both_places_writes(chosen):
    memory, parent = chosen
    fill(parent, 1)
    child = memory.fork(parent)
    press(memory, parent, 0)
    assert user_load(parent, 0) == user_load(child, 0) == 0
    memory.end(child)
    user_store(parent, 8, 5)  # it is the only owner now: no copy, and the slot is out of date
    press(memory, parent, 0)
    assert user_load(parent, 8) == 5


def test_an_owner_that_left_does_not_take_others_with_it(chosen):
    """What the pager knew of a page is out of date after copy-on-write; then others joined."""
    memory, parent = chosen
    fill(parent, 1)
    child = memory.fork(parent)
    memory.pager._look()  # it knows of the two
    user_store(parent, 8, 5)  # the parent gets a frame of its own
    grandchild = memory.fork(child)  # again two share the old one
    for number in range(150):
        user_store(parent, number * PGSIZE, 6)
    memory.audit()
    user_store(child, 8, 7)
    assert [user_load(space, 8) for space in (parent, child, grandchild)] == [5, 7, 0]


def test_an_owner_that_left_and_shares_its_new_frame_does_not_take_the_others_page(chosen):
    """Two mappings are known and two hold the frame of the first, but they are not the same two."""
    memory, parent = chosen
    fill(parent, 1)
    child = memory.fork(parent)
    memory.pager._look()
    memory.pager._patience = 100  # no other look before the next page leaves
    user_store(parent, 8, 5)
    other = memory.fork(parent)
    fill(parent, 1, first=3)
    memory.evictor.order = [page_number(parent, 0), page_number(parent, 3 * PGSIZE)]
    memory.pager.reclaim(-1, None)
    assert is_in(child, 0)
    memory.audit()
    assert [user_load(space, 8) for space in (parent, child, other)] == [5, 0, 5]


def test_what_was_known_of_a_space_that_ended_is_not_believed(chosen):
    memory, parent = chosen
    fill(parent, 2)
    child = memory.space()
    memory.grow(child, 4 * PGSIZE)
    fill(child, 4)
    memory.pager._look()
    memory.pager._patience = 100
    memory.evictor.order = [page_number(child, number * PGSIZE) for number in range(4)]
    memory.end(child)  # its tables are free, and full of junk
    memory.pager.reclaim(-1, None)
    memory.audit()
    assert holds(parent, 2)


def test_joining_a_page_whose_name_has_left(chosen):
    memory, parent = chosen
    fill(parent, 1)
    child, third = memory.fork(parent), memory.fork(parent)
    press(memory, parent, 0)
    assert user_load(parent, 0) == user_load(child, 0) == 0  # the frame is named after the parent
    memory.pager._look()
    user_store(parent, 8, 5)
    memory.evictor.order = [page_number(parent, 0)]
    memory.pager.reclaim(-1, None)
    assert is_out(parent, 0)
    assert user_load(third, 8) == 0  # joins the child in a frame whose name is gone
    assert count_of(third, 0) == 2
    memory.audit()
    assert user_load(parent, 8) == 5


@pytest.mark.parametrize("cow", [False, True])
def test_fork_with_pages_that_are_out(make_paged, cow):
    memory = make_paged(policy=Choice(), cow=cow)
    parent = memory.space()
    memory.grow(parent, 10 * PGSIZE)
    fill(parent, 4)
    press(memory, parent, 0, 2)
    loads = memory.swap.loads
    child = memory.fork(parent)
    assert is_out(child, 0) == is_out(child, 2) == cow, "shared slots, or copies"
    assert memory.swap.loads - loads == (0 if cow else 2)
    memory.audit()
    assert holds(child, 4)
    fill(child, 4, word=2)
    assert holds(parent, 4)
    fill(parent, 4, word=3)
    assert holds(child, 4, word=2)


# ---- pages that go by themselves -----------------------------------------------------------------


def test_shrinking_frees_slots_and_growing_again_reads_zero(chosen):
    memory, space = chosen
    fill(space, 4)
    press(memory, space, 0, 1, 2, 3)
    assert memory.swap.used == 4
    memory.grow(space, -199 * PGSIZE)
    assert memory.swap.used == 1
    memory.grow(space, 3 * PGSIZE)
    assert copyin(space, PGSIZE, 3 * PGSIZE) == bytes(3 * PGSIZE)
    assert holds(space, 1)


def test_an_end_frees_slots_unless_others_have_them(chosen):
    memory, parent = chosen
    fill(parent, 4)
    child = memory.fork(parent)
    press(memory, parent, 0, 1)
    fill(child, 1, first=10)
    press(memory, child, 10)
    assert memory.swap.used == 3
    memory.end(child)
    assert memory.swap.used == 2
    assert holds(parent, 4)
    memory.audit()


def test_unmapping_a_page_that_is_out(chosen):
    memory, space = chosen
    fill(space, 2)
    press(memory, space, 0, 1)
    assert space.table.unmap(0, PGSIZE, memory.frames.kfree_leaves) == 0, "no frame is left to release"
    assert memory.swap.used == 1
    assert copyin(space, 0, 8) == bytes(8)


def test_pages_that_went_by_themselves_are_chosen_at_no_cost(chosen):
    memory, space = chosen
    fill(space, 20)
    press(memory, space, 0)
    memory.grow(space, -190 * PGSIZE)  # ten pages are gone, and nobody told the policy
    press(memory, space, 1, 2)
    memory.audit()
    assert holds(space, 10)


# ---- when nothing is left -------------------------------------------------------------------------


def test_out_of_frames_and_slots(make_paged):
    memory = make_paged(slots=8)
    space = memory.space()
    memory.grow(space, 500 * PGSIZE)
    room = memory.free - 2 + 8  # two tables are still to come
    fill(space, room)
    assert memory.swap.full
    before = memory.frames.used_frames
    for _ in range(3):
        with pytest.raises(OutOfMemory, match="the swap area is full"):
            copyout(space, room * PGSIZE, b"x")
        assert pte(space, room * PGSIZE) == 0
    assert memory.frames.used_frames == before
    memory.audit()
    in_memory = [number for number in range(room) if is_in(space, number)]
    assert all(copyin(space, number * PGSIZE, PGSIZE) == content(number) for number in in_memory)


def test_a_slot_whose_page_is_in_memory_is_given_up_before_the_area_is_full(make_paged):
    """So frames and slots together hold as many pages as there are of both."""
    memory = make_paged(slots=8, policy="lru")
    space = memory.space()
    memory.grow(space, 500 * PGSIZE)
    room = memory.free - 2 + 7  # two tables are still to come
    fill(space, room)
    for _ in range(3):
        assert holds(space, room)
    memory.audit()


def test_a_frame_that_a_test_refuses_is_not_taken_from_the_swap_area(chosen):
    memory, space = chosen
    fill(space, 1)
    press(memory, space, 0)
    memory.frames.fail_at = 1
    with pytest.raises(OutOfMemory, match="injected"):
        user_load(space, 0)
    assert is_out(space, 0)
    memory.audit()
    assert holds(space, 1)


# ---- rights -----------------------------------------------------------------------------------


def test_a_forbidden_access_to_a_page_that_is_out_stays_forbidden(chosen):
    memory, space = chosen
    uvmalloc(space, 300 * PGSIZE, 302 * PGSIZE, PTE_R | PTE_X | PTE_U)
    press(memory, space, 300)
    epoch = space.code_epoch
    with pytest.raises(BadAddress):
        space.translate(300 * PGSIZE, Access.WRITE)
    assert space.translate(300 * PGSIZE, Access.FETCH) & PTE_X
    assert space.code_epoch > epoch, "what was translated from that frame is stale"
    with pytest.raises(BadAddress):
        copyout(space, 300 * PGSIZE, b"x")


# ---- the kernel's own accesses ----------------------------------------------------------------------


def test_the_kernel_reads_and_writes_across_pages_that_are_out(chosen):
    memory, space = chosen
    fill(space, 4)
    press(memory, space, 0, 1, 2, 3)
    expected = b"".join(content(number) for number in range(4))
    assert copyin(space, 100, 3 * PGSIZE) == expected[100 : 100 + 3 * PGSIZE]
    press(memory, space, 0, 1, 2)
    copyout(space, PGSIZE - 3, b"abcdef")
    assert copyin(space, PGSIZE - 4, 8) == content(0)[-4:-3] + b"abcdef" + content(1)[3:4]
    copyout(space, 2 * PGSIZE - 3, b"path\0")
    press(memory, space, 1, 2)
    assert copyinstr(space, 2 * PGSIZE - 3, 128) == b"path"


def test_mmap_pages_leave_and_come_back_and_are_copied_by_fork(chosen):
    memory, space = chosen
    start = TRAPFRAME - 8 * PGSIZE
    space.areas.append(Area(start, 8 * PGSIZE, PROT_READ | PROT_WRITE))
    number = start // PGSIZE
    user_store(space, start + 5, 42)
    press(memory, space, number)
    child = memory.fork(space)
    assert not is_out(child, number), "mmap pages are copied, not shared"
    user_store(child, start + 5, 43)
    assert user_load(space, start + 5) == 42
    press(memory, space, number)
    assert copyin(space, start + 5, 1) == b"*", "a page that is out was touched before"
    assert user_load(child, start + 5) == 43
    for each in (space, child):
        each.areas.clear()


# ---- what must be left for pages ----------------------------------------------------------------

TABLES = 6
"""Frames that a new space takes and keeps: a trapframe, a root, and two tables at either end."""


@pytest.mark.parametrize(("movable", "can_fork"), [(TABLES + 5, True), (TABLES + 4, False)])
def test_an_eager_fork_leaves_four_frames_beside_the_copy_of_a_guard_page(make_paged, movable, can_fork):
    """A guard page is not the user's, so its copy stays in memory like a page table."""
    memory = make_paged(cow=False)
    space = memory.space()
    uvmalloc(space, 0, PGSIZE, PTE_R | PTE_W)
    space.size = PGSIZE
    taken = [memory.frames.kalloc() for _ in range(memory.free - movable)]
    try:
        memory.fork(space)
        forked = True
    except OutOfMemory:
        forked = False
    for frame in taken:
        memory.frames.kfree(frame)
    assert forked is can_fork
