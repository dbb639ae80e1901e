"""The page-fault handler, branch by branch: ABI.md section 5."""

import pytest
from support import count_of, peek, pte

from nexemu.errors import BadAddress, OutOfMemory
from nexemu.events import PageFault
from nexemu.mem.area import Area
from nexemu.mem.fault import vmfault
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import (
    MAXVA,
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

READ, WRITE, FETCH = Access.READ, Access.WRITE, Access.FETCH
WHO = pytest.mark.parametrize("by_kernel", [False, True], ids=["user", "kernel"])
HEAP = 6 * PGSIZE


def flags(space, va):
    return pte(space, va) & 0x3FF


def plant(space, va, flags, content=b""):
    frame = space.frames.kalloc_zeroed()
    space.frames.ram.write(frame, content)
    space.table.mappages(va, PGSIZE, frame, flags)


def refused(space, va, access, by_kernel=False):
    """The reason; nothing may have changed."""
    before = (space.frames.free_frames, pte(space, va), space.epoch)
    with pytest.raises(BadAddress) as error:
        vmfault(space, va, access, by_kernel)
    assert (space.frames.free_frames, pte(space, va), space.epoch) == before
    assert error.value.va == va
    return error.value.why


# ---- lazy pages -------------------------------------------------------------------------------


@pytest.fixture
def lazy(make_memory):
    """A space with 600 pages below the break, none of them mapped."""
    space = make_memory(lazy=True).space()
    space.size = HEAP + 600 * PGSIZE - 100
    return space


@WHO
def test_the_first_load_maps_zeros_readable_writable_never_executable(lazy, by_kernel):
    returned = vmfault(lazy, HEAP + 123, READ, by_kernel)
    assert returned == pte(lazy, HEAP)
    assert flags(lazy, HEAP) == PTE_V | PTE_R | PTE_W | PTE_U | PTE_A
    assert peek(lazy, HEAP, PGSIZE) == bytes(PGSIZE)
    assert count_of(lazy, HEAP) == 1


@WHO
def test_the_first_store_also_sets_d(lazy, by_kernel):
    vmfault(lazy, HEAP, WRITE, by_kernel)
    assert flags(lazy, HEAP) == PTE_V | PTE_R | PTE_W | PTE_U | PTE_A | PTE_D


def test_a_lazy_page_costs_a_frame_and_each_region_a_table(lazy):
    def cost(va):
        before = lazy.frames.free_frames
        vmfault(lazy, va, WRITE, by_kernel=False)
        return before - lazy.frames.free_frames

    assert cost(HEAP) == 1 + 2, "the region's table, and one above it"
    assert cost(HEAP + PGSIZE) == 1
    assert cost(2 << 20) == 1 + 1


def test_a_fetch_from_an_untouched_page_is_refused(lazy):
    assert "not executable" in refused(lazy, HEAP, FETCH)


@WHO
@pytest.mark.parametrize("access", [READ, WRITE])
def test_the_last_page_of_the_break_counts_whole_the_next_does_not(lazy, access, by_kernel):
    last = HEAP + 600 * PGSIZE
    refused(lazy, last, access, by_kernel)
    vmfault(lazy, last - 1, access, by_kernel)  # past the break, in its page: the test is on the page
    assert flags(lazy, last - PGSIZE) & PTE_V


def test_a_page_start_at_the_break_itself_is_refused(lazy):
    lazy.size = HEAP + PGSIZE
    refused(lazy, HEAP + PGSIZE, WRITE)
    vmfault(lazy, HEAP + PGSIZE - 1, WRITE, by_kernel=False)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_frame_for_a_lazy_page_or_its_tables_maps_nothing(lazy, n):
    lazy.frames.fail_at = n
    with pytest.raises(OutOfMemory):
        vmfault(lazy, HEAP, WRITE, by_kernel=False)
    assert list(lazy.table.leaves(0, TRAPFRAME)) == []
    vmfault(lazy, HEAP, WRITE, by_kernel=False)


@WHO
@pytest.mark.parametrize("access", Access)
def test_with_lazy_allocation_off_nothing_appears(make_memory, access, by_kernel):
    space = make_memory(lazy=False).space()
    space.size = HEAP + PGSIZE
    refused(space, HEAP, access, by_kernel)


# ---- copy-on-write ----------------------------------------------------------------------------

SHARED = PTE_R | PTE_U | PTE_COW | PTE_A


@pytest.fixture
def pair(memory):
    """Parent and child share one page at HEAP: count 2, no W, the COW bit in both."""
    parent = memory.space()
    parent.size = HEAP + PGSIZE
    plant(parent, HEAP, PTE_R | PTE_W | PTE_U, b"theirs")
    return parent, memory.fork(parent)


@WHO
def test_the_first_of_two_writers_gets_a_copy(pair, by_kernel):
    parent, child = pair
    frame = pte2pa(pte(parent, HEAP))
    before = parent.frames.free_frames
    returned = vmfault(child, HEAP + 9, WRITE, by_kernel)
    assert returned == pte(child, HEAP)
    assert flags(child, HEAP) == PTE_V | PTE_R | PTE_W | PTE_U | PTE_A | PTE_D
    assert pte2pa(pte(child, HEAP)) != frame
    assert peek(child, HEAP, 8) == b"theirs\0\0"
    assert before - parent.frames.free_frames == 1
    assert (count_of(parent, HEAP), count_of(child, HEAP)) == (1, 1)
    assert flags(parent, HEAP) == PTE_V | PTE_R | PTE_U | PTE_COW, "the other side is untouched"


@WHO
def test_the_last_owner_writes_in_place(pair, by_kernel):
    parent, child = pair
    vmfault(child, HEAP, WRITE, by_kernel)
    frame, before = pte2pa(pte(parent, HEAP)), parent.frames.free_frames
    vmfault(parent, HEAP, WRITE, by_kernel)
    assert pte2pa(pte(parent, HEAP)) == frame
    assert parent.frames.free_frames == before
    assert flags(parent, HEAP) == PTE_V | PTE_R | PTE_W | PTE_U | PTE_A | PTE_D


def test_without_a_frame_for_the_copy_the_writer_fails_and_both_keep_the_page(pair):
    parent, child = pair
    before = pte(parent, HEAP), pte(child, HEAP)
    parent.frames.fail_at = 1
    with pytest.raises(OutOfMemory):
        vmfault(child, HEAP, WRITE, by_kernel=False)
    assert (pte(parent, HEAP), pte(child, HEAP)) == before
    assert count_of(parent, HEAP) == 2
    assert peek(parent, HEAP, 6) == b"theirs"


def test_a_store_to_a_shared_page_is_served_with_cow_switched_off_too(make_memory):
    """There are none then; but a handler that asks the page, not the switch, cannot be wrong."""
    space = make_memory(cow=False).space()
    space.size = HEAP + PGSIZE
    plant(space, HEAP, SHARED)
    vmfault(space, HEAP, WRITE, by_kernel=False)
    assert flags(space, HEAP) & PTE_W


@WHO
def test_text_is_never_made_writable_before_or_after_fork(memory, by_kernel):
    parent = memory.space()
    parent.size = HEAP
    plant(parent, 0, PTE_R | PTE_X | PTE_U, b"code")
    assert "program text (R-X)" in refused(parent, 0, WRITE, by_kernel)
    child = memory.fork(parent)
    grandchild = memory.fork(child)
    for space in (parent, child, grandchild):
        assert "program text (R-X)" in refused(space, 0, WRITE, by_kernel)
        assert count_of(space, 0) == 3


@WHO
@pytest.mark.parametrize("access", Access)
def test_the_guard_page_is_refused_before_and_after_fork(memory, access, by_kernel):
    parent = memory.space()
    parent.size = HEAP
    plant(parent, 2 * PGSIZE, PTE_R | PTE_W)
    child = memory.fork(parent)
    for space in (parent, child):
        assert "guard page" in refused(space, 2 * PGSIZE, access, by_kernel)


# ---- mmap areas -------------------------------------------------------------------------------

AREA = TRAPFRAME - 4 * PGSIZE


class TwoPages:
    """A file of 2 * PGSIZE - 100 bytes."""

    content = bytes(range(251)) * 32 + b"x" * (2 * PGSIZE - 100 - 251 * 32)

    def read_at(self, offset, count):
        return memoryview(self.content)[offset : offset + count]

    def hold(self):
        pass

    def drop(self):
        pass


@pytest.fixture(params=[False, True], ids=["eager", "lazy"])
def mapped(make_memory, request):
    """A space with one area of 3 pages; both settings of lazy allocation treat it alike."""

    def make(prot, length=3 * PGSIZE, backing=None, offset=0):
        space = make_memory(lazy=request.param).space()
        space.size = HEAP
        space.areas.append(Area(AREA, length, prot, backing, offset))
        return space

    return make


@pytest.mark.parametrize(
    ("prot", "access", "bits"),
    [
        (1, READ, PTE_R | PTE_A),
        (2, READ, PTE_R | PTE_W | PTE_A),
        (2, WRITE, PTE_R | PTE_W | PTE_A | PTE_D),
        (3, WRITE, PTE_R | PTE_W | PTE_A | PTE_D),
    ],
)
def test_an_anonymous_area_shows_zeros_with_its_rights(mapped, prot, access, bits):
    space = mapped(prot)
    vmfault(space, AREA + PGSIZE + 5, access, by_kernel=False)
    assert flags(space, AREA + PGSIZE) == PTE_V | PTE_U | bits
    assert peek(space, AREA + PGSIZE, PGSIZE) == bytes(PGSIZE)
    assert len(list(space.table.leaves(AREA, AREA + 3 * PGSIZE))) == 1


@pytest.mark.parametrize(("prot", "access"), [(1, WRITE), (1, FETCH), (2, FETCH), (3, FETCH)])
def test_what_the_area_forbids_is_refused(mapped, prot, access):
    assert f"prot {prot}" in refused(mapped(prot), AREA, access)


@pytest.mark.parametrize("va", [AREA - 1, AREA + 3 * PGSIZE])
def test_beside_the_area_nothing_appears(mapped, va):
    refused(mapped(3), va, READ)


def test_the_kernels_own_copies_do_not_fill_areas(mapped):
    space = mapped(3)
    refused(space, AREA, READ, by_kernel=True)
    refused(space, AREA, WRITE, by_kernel=True)


def test_a_file_area_shows_the_file_then_zeros(mapped):
    space = mapped(1, backing=TwoPages())
    for page in range(3):
        vmfault(space, AREA + page * PGSIZE, READ, by_kernel=False)
    shown = b"".join(peek(space, AREA + page * PGSIZE, PGSIZE) for page in range(3))
    assert shown == TwoPages.content + bytes(100 + PGSIZE)


def test_a_file_area_starts_at_its_offset_and_ends_at_its_length(mapped):
    space = mapped(1, length=50, backing=TwoPages(), offset=PGSIZE)
    vmfault(space, AREA, READ, by_kernel=False)
    assert peek(space, AREA, PGSIZE) == TwoPages.content[PGSIZE : PGSIZE + 50] + bytes(PGSIZE - 50)


def test_an_offset_behind_the_end_of_the_file_shows_zeros(mapped):
    space = mapped(1, backing=TwoPages(), offset=1 << 40)
    vmfault(space, AREA, READ, by_kernel=False)
    assert peek(space, AREA, PGSIZE) == bytes(PGSIZE)


@pytest.mark.parametrize("n", [1])
def test_no_frame_for_a_page_of_an_area_maps_nothing(mapped, n):
    space = mapped(3)
    space.frames.fail_at = n
    with pytest.raises(OutOfMemory):
        vmfault(space, AREA, READ, by_kernel=False)
    assert pte(space, AREA) == 0


# ---- beyond everything ------------------------------------------------------------------------


@WHO
@pytest.mark.parametrize("access", Access)
@pytest.mark.parametrize("va", [HEAP, 1 << 32, MAXVA - 1, MAXVA, 1 << 63, (1 << 64) - 1, TRAPFRAME])
def test_nothing_appears_above_the_break(memory, va, access, by_kernel):
    space = memory.space()
    space.size = HEAP
    refused(space, va, access, by_kernel)


# ---- what a hart and a listener learn ---------------------------------------------------------


@pytest.mark.parametrize(("by_kernel", "grows"), [(True, 1), (False, 0)])
def test_only_a_page_that_the_kernel_moved_makes_the_tlb_stale(pair, by_kernel, grows):
    """A hart replaces the one entry that it faulted on; an entry that was invalid is never cached."""
    _, child = pair
    before = child.epoch
    vmfault(child, HEAP, WRITE, by_kernel)
    assert child.epoch - before == grows


@pytest.mark.parametrize("access", [READ, WRITE])
def test_a_lazy_page_makes_no_tlb_stale(lazy, access):
    before = lazy.epoch
    vmfault(lazy, HEAP, access, by_kernel=True)
    assert lazy.epoch == before


def test_each_kind_of_fault_is_reported_with_what_changed(make_memory):
    memory = make_memory()
    parent = memory.space()
    parent.size = HEAP + PGSIZE
    parent.areas.append(Area(AREA, PGSIZE, 1))
    vmfault(parent, HEAP + 7, READ, by_kernel=True)
    lazy_pte = pte(parent, HEAP)
    child = memory.fork(parent)
    vmfault(child, HEAP + 7, WRITE, by_kernel=False)
    vmfault(parent, HEAP + 7, WRITE, by_kernel=False)
    vmfault(parent, AREA, READ, by_kernel=False)
    shared = lazy_pte & ~PTE_W | PTE_COW
    assert memory.events.of(PageFault) == [
        PageFault(parent.pid, "lazy", HEAP, "read", 0, lazy_pte, "kernel"),
        PageFault(child.pid, "cow-copy", HEAP, "write", shared, pte(child, HEAP), "user"),
        PageFault(parent.pid, "cow-reuse", HEAP, "write", shared, pte(parent, HEAP), "user"),
        PageFault(parent.pid, "mmap", AREA, "read", 0, pte(parent, AREA), "user"),
    ]


def test_without_a_listener_nothing_is_reported_and_all_works(make_memory):
    memory = make_memory()
    object.__setattr__(memory.paging, "emit", None)
    space = memory.space()
    space.size = HEAP + PGSIZE
    vmfault(space, HEAP, WRITE, by_kernel=False)
    assert memory.events.events == []


def test_a_page_of_an_executable_segment_that_is_copied_makes_old_code_stale(memory):
    """A writable page of code (one RWX segment): the copy lies in a frame that may have held other code."""
    parent = memory.space()
    parent.size = HEAP + PGSIZE
    plant(parent, HEAP, PTE_R | PTE_W | PTE_X | PTE_U)
    child = memory.fork(parent)
    before = child.code_epoch
    vmfault(child, HEAP, WRITE, by_kernel=False)
    assert child.code_epoch > before
    assert child.code_epoch == memory.frames.code_epoch
