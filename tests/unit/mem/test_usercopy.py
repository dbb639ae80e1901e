"""The kernel's own copies: page by page, with the right that each needs. ABI.md section 5."""

import pytest
from support import count_of, peek, pte, resident

from nexemu.errors import BadAddress, OutOfMemory
from nexemu.events import PageFault
from nexemu.mem.usercopy import copyin, copyinstr, copyout
from nexemu.memlayout import TRAMPOLINE, TRAPFRAME
from nexemu.riscv import MAXVA, PGSIZE, PTE_A, PTE_D, PTE_R, PTE_U, PTE_W, PTE_X

HEAP = 4 * PGSIZE


def plant(space, va, flags, content=b""):
    frame = space.frames.kalloc_zeroed()
    space.frames.ram.write(frame, content)
    space.table.mappages(va, PGSIZE, frame, flags)


@pytest.fixture
def space(memory):
    """Text at 0, a guard page at 2 * PGSIZE, a heap of 8 untouched pages."""
    space = memory.space()
    plant(space, 0, PTE_R | PTE_X | PTE_U, b"text")
    plant(space, 2 * PGSIZE, PTE_R | PTE_W, b"guard")
    space.size = HEAP + 8 * PGSIZE
    return space


NOT_THE_USERS = [2 * PGSIZE, HEAP + 8 * PGSIZE, TRAPFRAME, TRAMPOLINE, MAXVA, 1 << 63, (1 << 64) - 1]


# ---- copyout ----------------------------------------------------------------------------------


def test_copyout_fills_the_pages_it_crosses_and_no_more(memory, space):
    copyout(space, HEAP + 1000, b"B" * 6000)
    assert resident(space) == 1 + 2
    assert peek(space, HEAP, PGSIZE) == bytes(1000) + b"B" * 3096
    assert peek(space, HEAP + PGSIZE, PGSIZE) == b"B" * 2904 + bytes(1192)
    assert {event.by for event in memory.events.of(PageFault)} == {"kernel"}
    assert pte(space, HEAP) & PTE_D


def test_copyout_of_nothing_touches_nothing(space):
    for va in (HEAP, 2 * PGSIZE, MAXVA, (1 << 64) - 1):
        copyout(space, va, b"")
    assert resident(space) == 1


@pytest.mark.parametrize("va", [0, *NOT_THE_USERS])
def test_copyout_where_the_program_may_not_store_is_refused(space, va):
    before = space.frames.free_frames
    with pytest.raises(BadAddress):
        copyout(space, va, b"x")
    assert space.frames.free_frames == before
    assert peek(space, 0, 4) == b"text"
    assert peek(space, 2 * PGSIZE, 5) == b"guard"


def test_copyout_that_fails_on_a_later_page_has_written_the_earlier_ones(space):
    with pytest.raises(BadAddress) as error:
        copyout(space, HEAP + 7 * PGSIZE + 4000, b"C" * 200)
    assert error.value.va == HEAP + 8 * PGSIZE
    assert peek(space, HEAP + 7 * PGSIZE + 4000, 96) == b"C" * 96


def test_copyout_at_the_end_of_all_addresses_does_not_wrap_to_zero(space):
    with pytest.raises(BadAddress):
        copyout(space, (1 << 64) - 2, b"abcd")
    assert peek(space, 0, 4) == b"text"


def test_copyout_splits_shared_pages_so_that_the_other_side_keeps_its_bytes(memory, space):
    copyout(space, HEAP, b"A" * 8192)
    child = memory.fork(space)
    before = memory.free
    copyout(child, HEAP, b"B" * 8192)
    assert before - memory.free == 2
    assert copyin(space, HEAP, 8192) == b"A" * 8192
    assert copyin(child, HEAP, 8192) == b"B" * 8192
    assert [count_of(each, HEAP + page) for each in (space, child) for page in (0, PGSIZE)] == [1] * 4


def test_copyout_without_a_frame_fails_and_keeps_what_it_had_written(memory, space):
    copyout(space, HEAP, b"A" * 8192)
    child = memory.fork(space)
    memory.frames.fail_at = 2
    with pytest.raises(OutOfMemory):
        copyout(child, HEAP, b"B" * 8192)
    assert copyin(child, HEAP, 8192) == b"B" * 4096 + b"A" * 4096
    assert copyin(space, HEAP, 8192) == b"A" * 8192


def test_copyout_over_code_makes_what_was_translated_from_it_stale(space):
    plant(space, PGSIZE, PTE_R | PTE_W | PTE_X | PTE_U)
    before = space.code_epoch
    copyout(space, PGSIZE, b"new code")
    assert space.code_epoch > before
    before = space.code_epoch
    copyout(space, HEAP, b"data")
    copyin(space, PGSIZE, 8)
    assert space.code_epoch == before


# ---- copyin -----------------------------------------------------------------------------------


def test_copyin_of_an_untouched_page_gives_zeros_and_maps_it(space):
    assert copyin(space, HEAP + 4000, 200) == bytes(200)
    assert resident(space) == 1 + 2
    assert pte(space, HEAP) & (PTE_A | PTE_D) == PTE_A


def test_copyin_reads_text_and_crosses_pages(space):
    copyout(space, HEAP + PGSIZE - 3, b"across")
    assert copyin(space, HEAP + PGSIZE - 3, 6) == b"across"
    assert copyin(space, 0, 4) == b"text"


@pytest.mark.parametrize("va", NOT_THE_USERS)
def test_copyin_where_the_program_may_not_load_is_refused(space, va):
    with pytest.raises(BadAddress):
        copyin(space, va, 1)
    assert copyin(space, va, 0) == b""


def test_copyin_past_the_end_is_refused_whole(space):
    with pytest.raises(BadAddress):
        copyin(space, HEAP + 8 * PGSIZE - 4, 8)


def test_copyin_does_not_split_shared_pages(memory, space):
    copyout(space, HEAP, b"A")
    child = memory.fork(space)
    copyin(child, HEAP, 1)
    assert count_of(space, HEAP) == 2


# ---- copyinstr --------------------------------------------------------------------------------


def put(space, va, text):
    copyout(space, va, text)


def test_a_string_ends_at_its_nul(space):
    put(space, HEAP, b"name\0rest")
    assert copyinstr(space, HEAP, 128) == b"name"
    assert copyinstr(space, HEAP + 4, 128) == b""


def test_a_string_may_fill_its_limit_with_the_nul_and_no_more(space):
    put(space, HEAP, b"x" * 127 + b"\0")
    assert copyinstr(space, HEAP, 128) == b"x" * 127
    put(space, HEAP, b"x" * 128 + b"\0")
    with pytest.raises(BadAddress, match="without a NUL in its first 128 bytes"):
        copyinstr(space, HEAP, 128)


def test_a_nul_on_an_untouched_lazy_page_ends_the_string_there(space):
    put(space, HEAP + PGSIZE - 4, b"path")
    before = resident(space)
    assert copyinstr(space, HEAP + PGSIZE - 4, 128) == b"path"
    assert resident(space) == before + 1


def test_pages_behind_the_nul_are_not_touched(space):
    put(space, HEAP + PGSIZE - 5, b"path\0")
    before = resident(space)
    assert copyinstr(space, HEAP + PGSIZE - 5, 128) == b"path"
    assert resident(space) == before


def test_a_string_may_lie_across_pages(space):
    put(space, HEAP + PGSIZE - 3, b"abcdef\0")
    assert copyinstr(space, HEAP + PGSIZE - 3, 128) == b"abcdef"


@pytest.mark.parametrize("va", NOT_THE_USERS)
def test_a_string_where_nothing_may_be_loaded_is_refused(space, va):
    with pytest.raises(BadAddress):
        copyinstr(space, va, 128)


def test_a_string_that_runs_off_the_break_is_refused(space):
    put(space, HEAP + 8 * PGSIZE - 2, b"xy")
    with pytest.raises(BadAddress):
        copyinstr(space, HEAP + 8 * PGSIZE - 2, 128)
