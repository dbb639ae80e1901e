"""Address spaces: what a translation sets, withholds and refuses, and what a space owns."""

from dataclasses import replace

import pytest
import spec_walk
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import Memory, pte

from nexemu.errors import BadAddress, KernelPanic, OutOfMemory
from nexemu.mem.area import Area
from nexemu.mem.builtin import BUILTIN
from nexemu.mem.vm import AddressSpace
from nexemu.memlayout import TRAMPOLINE, TRAPFRAME
from nexemu.riscv import (
    MAXVA,
    PGSIZE,
    PTE_A,
    PTE_COW,
    PTE_D,
    PTE_R,
    PTE_RESERVED,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    Access,
    pa2pte,
    pte2pa,
)

HEAP = 8 * PGSIZE
USER = PTE_R | PTE_W | PTE_U
READ, WRITE, FETCH = Access.READ, Access.WRITE, Access.FETCH


def plant(space, va, flags):
    """Map a frame of its own at ``va`` with ``flags``; returns the PTE."""
    space.table.mappages(va, PGSIZE, space.frames.kalloc_zeroed(), flags)
    return pte(space, va)


# ---- A, D, and the W that waits for D (Privileged Architecture, "Sv39") --------------------------


def test_a_load_sets_a_only_and_its_result_withholds_w(space):
    before = plant(space, HEAP, USER)
    result = space.translate(HEAP + 100, READ)
    assert pte(space, HEAP) == before | PTE_A
    assert result == (before | PTE_A) & ~PTE_W


def test_a_store_sets_a_and_d_and_its_result_has_w(space):
    before = plant(space, HEAP, USER)
    result = space.translate(HEAP, WRITE)
    assert result == pte(space, HEAP) == before | PTE_A | PTE_D


def test_after_a_store_a_load_has_w_too(space):
    plant(space, HEAP, USER)
    space.translate(HEAP, WRITE)
    assert space.translate(HEAP, READ) & PTE_W


def test_a_fetch_sets_a_only(space):
    before = plant(space, 0, PTE_R | PTE_X | PTE_U)
    assert space.translate(0, FETCH) == pte(space, 0) == before | PTE_A


def test_translating_a_mapped_page_is_no_page_fault(memory, space):
    plant(space, HEAP, USER)
    for access in (READ, WRITE, READ):
        space.translate(HEAP, access)
    assert memory.events.events == []


def test_rsw_bits_change_nothing(space):
    before = plant(space, HEAP, USER | 1 << 8 | 1 << 9)
    assert space.translate(HEAP, WRITE) == before | PTE_A | PTE_D


# ---- what is refused --------------------------------------------------------------------------

MALFORMED = {
    "U=0": (USER & ~PTE_U, (READ, WRITE, FETCH)),
    "W without R": (PTE_W | PTE_U, (READ, WRITE, FETCH)),
    "W and X without R": (PTE_W | PTE_X | PTE_U, (READ, WRITE, FETCH)),
    "no rights at all (a pointer at the last level)": (PTE_U, (READ, WRITE, FETCH)),
    "a reserved bit": (USER | PTE_X | 1 << 54, (READ, WRITE, FETCH)),
    "bit 63": (USER | PTE_X | 1 << 63, (READ, WRITE, FETCH)),
    "read-only": (PTE_R | PTE_U, (WRITE, FETCH)),
    "text": (PTE_R | PTE_X | PTE_U, (WRITE,)),
    "data": (USER, (FETCH,)),
    "execute-only": (PTE_X | PTE_U, (READ, WRITE)),
}
CASES = [(name, access) for name, (_, accesses) in MALFORMED.items() for access in accesses]


@pytest.mark.parametrize(("name", "access"), CASES, ids=[f"{name}-{access.name}" for name, access in CASES])
def test_a_leaf_without_the_right_is_refused_and_stays_as_it_was(memory, space, name, access):
    space.size = HEAP + PGSIZE  # below the break: a missing page would appear
    before = plant(space, HEAP, MALFORMED[name][0])
    for by_kernel in (False, True):
        with pytest.raises(BadAddress):
            space.translate(HEAP, access, by_kernel)
    assert pte(space, HEAP) == before
    assert memory.events.events == []
    space.table.words[space.table.lookup(HEAP)] = before & ~PTE_RESERVED  # so that it can be freed


@pytest.mark.parametrize("access", Access)
@pytest.mark.parametrize(
    "va",
    [MAXVA - 1, TRAMPOLINE, TRAPFRAME, TRAPFRAME - 1, MAXVA, 1 << 39, (1 << 64) - (1 << 38), (1 << 64) - 1],
)
def test_the_top_of_the_address_space_is_out_of_reach(space, va, access):
    space.size = HEAP
    with pytest.raises(BadAddress) as refused:
        space.translate(va, access)
    assert refused.value.va == va


@pytest.mark.parametrize("frame", [0x8000_0000, 0x8010_1000], ids=["aligned", "misaligned"])
def test_a_superpage_is_refused(memory, space, frame):
    """A misaligned one must be; an aligned one this kernel never makes, so it must be damage."""
    space.size = 1 << 31
    space.table.walk(1 << 30)
    middle = space.table._index_of(pte2pa(space.table.words[space.table._root_index + 1]))
    pointer = space.table.words[middle]
    space.table.words[middle] = pa2pte(frame) | USER | PTE_V
    space.table.walk_cache.clear()
    with pytest.raises((BadAddress, KernelPanic)):
        space.translate(1 << 30, READ)
    space.table.words[middle] = pointer


@settings(max_examples=200)
@given(st.integers(0, (1 << 10) - 1), st.sampled_from([0, 0, 0, 1, 1 << 9]), st.sampled_from(Access))
@example(PTE_V | PTE_W | PTE_X | PTE_U, 0, FETCH)
def test_any_leaf_is_allowed_exactly_when_the_specification_allows_it(flags, reserved, access):
    """But for the COW bit, which is the fault handler's business."""
    memory = Memory(pages=64)
    space = memory.space()
    leaf = pa2pte(memory.trampoline) | flags & ~PTE_COW | reserved << 54
    space.table.words[space.table.walk(HEAP)] = leaf
    wanted = spec_walk.translate(memory.ram, space.table.root, HEAP, access.name)
    try:
        found = pte2pa(space.translate(HEAP, access))
    except BadAddress:
        found = None
    assert found == wanted


# ---- the fault handler's turn -----------------------------------------------------------------


@pytest.mark.parametrize("by_kernel", [False, True])
def test_a_missing_page_goes_to_the_handler_with_all_it_must_know(make_memory, by_kernel):
    asked = []

    def answer(who):
        return lambda *question: asked.append((who, *question)) or pa2pte(0x8100_0000) | USER | PTE_V | PTE_A

    handler = replace(BUILTIN, page_fault=answer("hart"), prepare_copy=answer("kernel"))
    space = make_memory(handler=handler).space()
    result = space.translate(HEAP + 5, READ, by_kernel)
    assert asked == [("kernel" if by_kernel else "hart", space, HEAP + 5, READ)]
    assert result == pa2pte(0x8100_0000) | PTE_R | PTE_U | PTE_V | PTE_A


@pytest.mark.parametrize(
    ("access", "answer"),
    [(READ, 0), (READ, PTE_V | PTE_U | PTE_X), (WRITE, PTE_V | PTE_R | PTE_U | PTE_A), (FETCH, PTE_V | USER)],
)
def test_a_handler_that_handled_nothing_is_a_kernel_error_that_says_so(make_memory, access, answer):
    space = make_memory(handler=replace(BUILTIN, page_fault=lambda *_: answer)).space()
    with pytest.raises(KernelPanic, match=f"page fault.*{access.name} at 0x8005"):
        space.translate(HEAP + 5, access)


def test_a_store_gets_w_even_from_a_handler_that_forgets_d(make_memory):
    """Withholding W from the very store that faulted would make it come back for ever."""
    forgetful = replace(BUILTIN, page_fault=lambda *_: pa2pte(0x8100_0000) | USER | PTE_V)
    space = make_memory(handler=forgetful).space()
    assert space.translate(HEAP, WRITE) & PTE_W


# ---- what a space owns ------------------------------------------------------------------------


def test_a_new_space_holds_its_tables_a_trapframe_and_the_shared_trampoline(memory):
    before = memory.free
    space = memory.space()
    assert before - memory.free == 3 + 1, "root, two tables for the top, the trapframe"
    trapframe, trampoline = space.table.leaves()
    assert (trapframe.va, trampoline.va) == (0x3F_FFFF_E000, 0x3F_FFFF_F000)
    assert trapframe.pte & 0xFF == PTE_V | PTE_R | PTE_W
    assert trampoline.pte & 0xFF == PTE_V | PTE_R | PTE_X
    assert memory.frames.refcount(memory.trampoline) == 2
    assert (space.size, space.mapped_pages(), space.limit) == (0, 0, 0x3F_FFFF_E000)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_space_that_cannot_be_made_leaves_nothing(memory, n):
    before = memory.free
    memory.frames.fail_at = n
    with pytest.raises(OutOfMemory):
        AddressSpace.create(memory.frames, memory.paging, memory.trampoline)
    assert memory.free == before
    assert memory.frames.refcount(memory.trampoline) == 1


def test_mapped_pages_are_the_users_own_below_the_break(space):
    plant(space, 0, PTE_R | PTE_X | PTE_U)
    plant(space, PGSIZE, PTE_R | PTE_W)  # a guard page
    plant(space, 2 * PGSIZE, USER)
    plant(space, 9 * PGSIZE, USER)  # above the break
    space.size = 3 * PGSIZE - 100
    assert space.mapped_pages() == 2


def test_areas_limit_the_break_and_are_found_by_address(space):
    top, low = Area(TRAPFRAME - 2 * PGSIZE, 2 * PGSIZE, 1), Area(TRAPFRAME - 9 * PGSIZE, 100, 1)
    space.areas += [top, low]
    assert space.limit == low.start
    assert space.area_at(low.start + 4095) is low
    assert space.area_at(low.start + 4096) is None
    assert space.area_at(TRAPFRAME - 1) is top
    assert space.area_at(TRAPFRAME) is None


def test_freeing_gives_pages_tables_and_the_holds_on_files_back(memory):
    class File:
        dropped = 0

        def drop(self):
            self.dropped += 1

    before, file = memory.free, File()
    space = memory.space()
    for va in (0, HEAP, 5 << 30):
        plant(space, va, USER)
    space.areas += [Area(TRAPFRAME - PGSIZE, 10, 1, file), Area(TRAPFRAME - 2 * PGSIZE, 10, 1)]
    plant(space, TRAPFRAME - PGSIZE, PTE_R | PTE_U)
    memory.end(space)
    assert memory.free == before
    assert file.dropped == 1
