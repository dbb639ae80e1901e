"""Frames: who has one, how many share it, and an audit that sees every kind of damage."""

import pytest

from nexemu.errors import KernelPanic, OutOfMemory
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.phys import PhysicalMemory
from nexemu.riscv import PTE_V, pa2pte

PAGE = 4096
FRAMES = 64
FIRST = 0x8000_0000 + 256 * PAGE
END = FIRST + FRAMES * PAGE


@pytest.fixture
def frames():
    return FrameAllocator(PhysicalMemory((256 + FRAMES) * PAGE))


def content(frames, pa):
    return frames.ram.read(pa, PAGE)


# ---- allocating and freeing -------------------------------------------------------------------


def test_all_frames_but_the_kernels_are_free_at_first(frames):
    assert (frames.total, frames.free_frames, frames.used_frames) == (FRAMES, FRAMES, 0)


def test_every_frame_is_handed_out_once_and_none_of_the_kernels(frames):
    handed_out = [frames.kalloc() for _ in range(FRAMES)]
    assert sorted(handed_out) == list(range(FIRST, END, PAGE))
    assert (frames.free_frames, frames.used_frames) == (0, FRAMES)


def test_running_out_takes_nothing_and_one_freed_frame_is_enough_again(frames):
    handed_out = [frames.kalloc() for _ in range(FRAMES)]
    for allocate in (frames.kalloc, frames.kalloc_zeroed, lambda: frames.kalloc_copy(FIRST)):
        with pytest.raises(OutOfMemory):
            allocate()
    frames.kfree(handed_out[7])
    assert frames.kalloc() == handed_out[7]
    frames.audit(handed_out)


def test_a_frame_is_full_of_junk_of_zeros_or_of_another_ones_bytes(frames):
    junk, zeros = frames.kalloc(), frames.kalloc_zeroed()
    assert content(frames, junk) == b"\x05" * PAGE
    assert content(frames, zeros) == bytes(PAGE)
    frames.ram.write(junk, bytes(range(256)) * 16)
    assert content(frames, frames.kalloc_copy(junk)) == bytes(range(256)) * 16


def test_a_freed_frame_is_full_of_other_junk_and_comes_back_zeroed_when_asked(frames):
    pa = frames.kalloc_zeroed()
    frames.kfree(pa)
    assert content(frames, pa) == b"\x01" * PAGE
    assert frames.kalloc_zeroed() == pa
    assert content(frames, pa) == bytes(PAGE)


def test_a_frame_is_free_when_its_last_holder_is_gone(frames):
    pa = frames.kalloc()
    frames.incref(pa)
    frames.incref(pa)
    assert frames.refcount(pa) == 3
    for left in (2, 1):
        frames.kfree(pa)
        assert (frames.refcount(pa), frames.free_frames) == (left, FRAMES - 1)
    frames.kfree(pa)
    assert (frames.refcount(pa), frames.free_frames) == (0, FRAMES)


def test_many_leaves_are_held_and_let_go_like_one(frames):
    first, second = frames.kalloc(), frames.kalloc()
    leaves = [pa2pte(first) | PTE_V, pa2pte(second) | PTE_V, pa2pte(first) | PTE_V]
    frames.incref_leaves(leaves)
    assert (frames.refcount(first), frames.refcount(second)) == (3, 2)
    frames.kfree_leaves([*leaves, leaves[0]])
    assert (frames.refcount(first), frames.refcount(second), frames.free_frames) == (0, 1, FRAMES - 1)
    with pytest.raises(KernelPanic, match=f"kfree: nobody holds a frame at {first:#x}"):
        frames.kfree_leaves([leaves[1], leaves[0]])
    for pa in (0, FIRST - 512 * PAGE, END):
        with pytest.raises(KernelPanic, match="kfree: nobody holds"):
            frames.kfree_leaves([pa2pte(pa) | PTE_V])


@pytest.mark.parametrize(
    "pa", [FIRST, FIRST + 8 * PAGE, FIRST - PAGE, 0x8000_0000, 0, END, END + (1 << 40), (1 << 56) - PAGE]
)
@pytest.mark.parametrize("verb", ["kfree", "incref"])
def test_only_held_frames_can_be_freed_or_shared(frames, verb, pa):
    frames.kfree(frames.kalloc())
    with pytest.raises(KernelPanic, match=f"{verb}.*{pa:#x}"):
        getattr(frames, verb)(pa)
    assert frames.free_frames == FRAMES


@pytest.mark.parametrize("verb", ["kfree", "incref"])
def test_an_address_within_a_frame_is_no_frame(frames, verb):
    pa = frames.kalloc()
    with pytest.raises(KernelPanic):
        getattr(frames, verb)(pa + 8)
    assert frames.refcount(pa) == 1


# ---- sharing ----------------------------------------------------------------------------------


def test_the_only_holder_keeps_its_frame(frames):
    pa = frames.kalloc()
    assert frames.unshare(pa) == pa
    assert frames.used_frames == 1


def test_one_of_two_holders_gets_a_copy_and_gives_up_its_hold(frames):
    pa = frames.kalloc()
    frames.ram.write(pa, b"shared")
    frames.incref(pa)
    copy = frames.unshare(pa)
    assert copy != pa
    assert (frames.refcount(pa), frames.refcount(copy)) == (1, 1)
    assert content(frames, copy) == content(frames, pa)


def test_without_a_frame_for_the_copy_the_hold_stays(frames):
    pa = frames.kalloc()
    frames.incref(pa)
    frames.fail_at = 1
    with pytest.raises(OutOfMemory):
        frames.unshare(pa)
    assert (frames.refcount(pa), frames.used_frames) == (2, 1)


# ---- failures on order ------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_nth_allocation_fails_and_takes_nothing_and_the_next_works(frames, n):
    frames.fail_at = n
    held = [frames.kalloc() for _ in range(n - 1)]
    with pytest.raises(OutOfMemory, match="injected"):
        frames.kalloc_zeroed()
    assert frames.used_frames == n - 1
    held.append(frames.kalloc())
    frames.audit(held)


# ---- the audit --------------------------------------------------------------------------------


@pytest.fixture
def held(frames):
    """Three frames, the first one held twice; two others were used and are free."""
    three = [frames.kalloc() for _ in range(3)]
    used = [frames.kalloc(), frames.kalloc()]
    for pa in used:
        frames.kfree(pa)
    frames.incref(three[0])
    return [*three, three[0]]


def test_true_books_balance(frames, held):
    frames.audit(held)
    frames.audit(reversed(held))


def test_the_audit_names_a_frame_that_nobody_holds(frames, held):
    with pytest.raises(KernelPanic, match=f"{held[1]:#x} has count 1, 0 hold it"):
        frames.audit([held[0], held[0], held[2]])


def test_the_audit_names_a_frame_with_more_holders_than_its_count(frames, held):
    with pytest.raises(KernelPanic, match=f"{held[2]:#x} has count 1, 2 hold it"):
        frames.audit([*held, held[2]])


def test_the_audit_sees_a_holder_of_a_free_frame(frames, held):
    frames.kfree(held[1])
    with pytest.raises(KernelPanic, match=f"{held[1]:#x} has count 0, 1 hold it"):
        frames.audit(held)


def test_the_audit_sees_a_frame_that_is_free_twice(frames, held):
    frames._free.append(frames._free[0])
    with pytest.raises(KernelPanic, match="twice"):
        frames.audit(held)


def test_the_audit_sees_a_held_frame_on_the_free_list(frames, held):
    frames._free.append(held[1])
    with pytest.raises(KernelPanic, match=f"{held[1]:#x} has count 1, on the free list: True"):
        frames.audit(held)


def test_the_audit_sees_a_frame_that_is_neither_free_nor_held(frames, held):
    lost = frames._free.pop()
    with pytest.raises(KernelPanic, match=f"{lost:#x} has count 0, on the free list: False"):
        frames.audit(held)


@pytest.mark.parametrize("pa", [FIRST - PAGE, END - PAGE, END, 0])
def test_the_audit_sees_a_free_frame_that_was_never_handed_out(frames, held, pa):
    frames._free.append(pa)
    with pytest.raises(KernelPanic, match=f"{pa:#x}"):
        frames.audit(held)


@pytest.mark.parametrize("pa", [FIRST - PAGE, END - PAGE, END, 0, FIRST + 8])
def test_the_audit_sees_a_holder_of_what_was_never_handed_out(frames, held, pa):
    with pytest.raises(KernelPanic, match=f"{pa:#x}"):
        frames.audit([*held, pa])
