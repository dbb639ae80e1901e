"""fork's half of memory: ABI.md section 7, shared and copied, and running out at every step."""

import pytest
from support import MIB, count_of, peek, pte, resident

from nexemu.errors import OutOfMemory
from nexemu.mem.area import Area
from nexemu.mem.usercopy import copyin, copyout
from nexemu.mem.uvmcopy import uvmcopy
from nexemu.mem.vm import AddressSpace
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import PGSIZE, PTE_COW, PTE_D, PTE_FLAGS, PTE_R, PTE_U, PTE_W, PTE_X, Access, pte2pa

TEXT, DATA, GUARD, HEAP = 0, PGSIZE, 2 * PGSIZE, 3 * PGSIZE
FAR = 6 * MIB  # a page in a region of its own
AREA = TRAPFRAME - 2 * PGSIZE
BESIDE = 4  # what any new space costs: root, two tables at the top, the trapframe


class File:
    held = 0

    def read_at(self, offset, count):
        return b"file"

    def hold(self):
        self.held += 1

    def drop(self):
        self.held -= 1


def plant(space, va, flags, content):
    frame = space.frames.kalloc_zeroed()
    space.frames.ram.write(frame, content)
    space.table.mappages(va, PGSIZE, frame, flags)


def populate(memory):
    """Text, data, a guard page, two touched heap pages of many, and an anonymous area half touched."""
    parent = memory.space()
    plant(parent, TEXT, PTE_R | PTE_X | PTE_U, b"text")
    plant(parent, DATA, PTE_R | PTE_W | PTE_U | PTE_D, b"data")
    plant(parent, GUARD, PTE_R | PTE_W, b"guard")
    plant(parent, HEAP, PTE_R | PTE_W | PTE_U, b"heap")
    plant(parent, FAR, PTE_R | PTE_W | PTE_U, b"far")
    parent.size = FAR + 100 * PGSIZE - 50
    parent.areas += [Area(AREA, 2 * PGSIZE, 3)]
    plant(parent, AREA, PTE_R | PTE_W | PTE_U, b"area")
    return parent


@pytest.fixture
def shared(make_memory):
    memory = make_memory(cow=True)
    return memory, populate(memory)


@pytest.fixture
def copied(make_memory):
    memory = make_memory(cow=False)
    return memory, populate(memory)


@pytest.fixture(params=[True, False], ids=["cow", "copy"])
def either(make_memory, request):
    memory = make_memory(cow=request.param)
    return memory, populate(memory)


# ---- both ways --------------------------------------------------------------------------------


def test_the_child_has_the_same_bytes_break_and_areas(either):
    memory, parent = either
    child = memory.fork(parent)
    assert child.size == parent.size
    assert child.areas == parent.areas
    assert child.areas[0] is not parent.areas[0]
    for va, content in [(TEXT, b"text"), (DATA, b"data"), (HEAP, b"heap"), (FAR, b"far\0"), (AREA, b"area")]:
        assert copyin(child, va, 4) == content
    assert peek(child, GUARD, 5) == b"guard"
    assert not pte(child, GUARD) & PTE_U


def test_untouched_pages_stay_untouched_in_both(either):
    memory, parent = either
    child = memory.fork(parent)
    assert resident(child) == resident(parent) == 4
    for space in (parent, child):
        assert [leaf.va for leaf in space.table.leaves(0, AREA)] == [TEXT, DATA, GUARD, HEAP, FAR]


def test_neither_side_sees_what_the_other_writes(either):
    memory, parent = either
    child = memory.fork(parent)
    copyout(child, DATA, b"kids")
    copyout(parent, HEAP, b"old!")
    copyout(child, AREA, b"mine")
    assert (copyin(parent, DATA, 4), copyin(child, DATA, 4)) == (b"data", b"kids")
    assert (copyin(parent, HEAP, 4), copyin(child, HEAP, 4)) == (b"old!", b"heap")
    assert (copyin(parent, AREA, 4), copyin(child, AREA, 4)) == (b"area", b"mine")


def test_the_child_has_a_trapframe_of_its_own(either):
    memory, parent = either
    child = memory.fork(parent)
    assert count_of(child, TRAPFRAME) == 1
    assert pte(child, TRAPFRAME) != pte(parent, TRAPFRAME)


def test_a_file_area_is_held_once_more_and_let_go_with_the_child(either):
    memory, parent = either
    file = File()
    file.hold()
    parent.areas.append(Area(AREA - PGSIZE, 100, 1, file, 4096))
    child = memory.fork(parent)
    assert file.held == 2
    assert child.areas[1].backing is file
    assert child.areas[1].offset == 4096
    memory.end(child)
    assert file.held == 1
    parent.areas.pop()


def test_an_empty_parent_has_an_empty_child(make_memory, switches):
    memory = make_memory(**switches)
    parent = memory.space()
    before = memory.free
    child = memory.fork(parent)
    assert before - memory.free == BESIDE
    assert resident(child) == 0


# ---- copy-on-write ----------------------------------------------------------------------------


def test_sharing_takes_tables_and_the_areas_page_and_no_other_frame(shared):
    memory, parent = shared
    before = memory.free
    child = AddressSpace.create(memory.frames, memory.paging, memory.trampoline)
    memory.adopt(child)
    assert uvmcopy(parent, child) == (5, 1)
    assert before - memory.free == BESIDE + 3 + 1, "tables for two low regions; one page of the area"


def test_writable_pages_lose_w_and_gain_cow_in_both_tables_others_keep_their_flags(shared):
    memory, parent = shared
    before = {va: pte(parent, va) for va in (TEXT, DATA, GUARD, HEAP, FAR)}
    child = memory.fork(parent)
    for va, was in before.items():
        wanted = was & ~PTE_W | PTE_COW if was & PTE_W else was
        assert pte(parent, va) == pte(child, va) == wanted
        assert count_of(parent, va) == 2


def test_areas_are_copied_at_once_and_stay_writable(shared):
    memory, parent = shared
    child = memory.fork(parent)
    for space in (parent, child):
        assert pte(space, AREA) & (PTE_W | PTE_COW) == PTE_W
        assert count_of(space, AREA) == 1


def test_sharing_takes_rights_away_so_the_parents_tlb_is_stale(shared):
    memory, parent = shared
    before = parent.epoch
    memory.fork(parent)
    assert parent.epoch > before


def test_a_page_that_is_shared_already_is_shared_once_more(shared):
    memory, parent = shared
    child = memory.fork(parent)
    grandchild = memory.fork(child)
    assert count_of(grandchild, HEAP) == count_of(grandchild, TEXT) == 3
    copyout(grandchild, HEAP, b"G")
    copyout(child, HEAP, b"C")
    copyout(parent, HEAP, b"P")
    spaces = (parent, child, grandchild)
    assert [copyin(space, HEAP, 2) for space in spaces] == [b"Pe", b"Ce", b"Ge"]
    assert [count_of(space, HEAP) for space in spaces] == [1, 1, 1]
    assert [pte(space, HEAP) & (PTE_W | PTE_COW) for space in spaces] == [PTE_W] * 3


def test_the_last_owner_reuses_its_frame_after_the_others_died(shared):
    memory, parent = shared
    frame = pte2pa(pte(parent, HEAP))
    for _ in range(3):
        memory.end(memory.fork(parent))
    before = memory.free
    parent.translate(HEAP, Access.WRITE)
    assert pte2pa(pte(parent, HEAP)) == frame
    assert memory.free == before


def test_a_clean_page_that_was_never_touched_again_can_be_shared_many_times(make_memory):
    memory = make_memory(cow=True)
    parent = populate(memory)
    children = [memory.fork(parent) for _ in range(12)]
    assert count_of(parent, HEAP) == 13
    assert all(pte(child, HEAP) == pte(parent, HEAP) for child in children)


# ---- copying at once --------------------------------------------------------------------------


def test_copying_takes_a_frame_for_every_valid_page_text_and_guard_included(copied):
    memory, parent = copied
    before = memory.free
    child = AddressSpace.create(memory.frames, memory.paging, memory.trampoline)
    memory.adopt(child)
    assert uvmcopy(parent, child) == (0, 6)
    assert before - memory.free == BESIDE + 3 + 6
    for va in (TEXT, DATA, GUARD, HEAP, FAR, AREA):
        assert pte(parent, va) & PTE_FLAGS == pte(child, va) & PTE_FLAGS
        assert not pte(parent, va) & PTE_COW
        assert count_of(parent, va) == count_of(child, va) == 1


def test_copies_of_code_make_what_was_translated_before_stale(copied):
    memory, parent = copied
    before = memory.frames.code_epoch
    child = memory.fork(parent)
    assert child.code_epoch == memory.frames.code_epoch > before


def test_shared_code_is_not_translated_again(shared):
    memory, parent = shared
    before = memory.frames.code_epoch
    child = memory.fork(parent)
    assert (child.code_epoch, memory.frames.code_epoch) == (parent.code_epoch, before)


# ---- running out ------------------------------------------------------------------------------

ALLOCATIONS = {True: BESIDE + 3 + 1, False: BESIDE + 3 + 6}


@pytest.mark.parametrize(
    ("cow", "n"), [(cow, n) for cow in ALLOCATIONS for n in range(1, ALLOCATIONS[cow] + 1)]
)
def test_a_fork_that_runs_out_at_any_allocation_leaves_the_parent_whole(make_memory, cow, n):
    memory = make_memory(cow=cow)
    parent = populate(memory)
    file = File()
    file.hold()
    parent.areas.append(Area(AREA - PGSIZE, 100, 1, file))
    before = memory.free
    counts = {leaf.va: memory.frames.refcount(pte2pa(leaf.pte)) for leaf in parent.table.leaves()}
    memory.frames.fail_at = n
    with pytest.raises(OutOfMemory):
        memory.fork(parent)
    assert memory.frames.fail_at is None, "the failure happened"
    assert memory.free == before
    assert counts == {leaf.va: memory.frames.refcount(pte2pa(leaf.pte)) for leaf in parent.table.leaves()}
    assert file.held == 1
    for va in (DATA, HEAP, FAR):  # marked or not, the next store needs no frame
        copyout(parent, va, b"W")
    assert memory.free == before
    assert not pte(parent, TEXT) & PTE_W
    memory.fork(parent)
    memory.audit()


@pytest.mark.parametrize("cow", [True, False])
def test_the_list_of_allocations_is_complete(make_memory, cow):
    memory = make_memory(cow=cow)
    parent = populate(memory)
    memory.frames.fail_at = ALLOCATIONS[cow] + 1
    memory.fork(parent)
    assert memory.frames.fail_at == 1
    memory.frames.fail_at = None
