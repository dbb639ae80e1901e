import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from nexemu.errors import KernelPanic, OutOfMemory
from nexemu.kv.contiguous import FITS, ContiguousAllocator, Run


def holes_of(*lengths, fit):
    """An allocator with holes of these lengths, a slot between each two."""
    allocator = ContiguousAllocator(sum(lengths) + len(lengths) - 1, fit)
    runs, walls = [], []
    for number, length in enumerate(lengths):
        runs.append(allocator.allocate(length))
        if number < len(lengths) - 1:
            walls.append(allocator.allocate(1))
    for run in runs:
        allocator.free(run)
    return allocator


@pytest.mark.parametrize(("fit", "start"), [("first", 0), ("best", 11), ("worst", 16)])
def test_the_fits_choose_different_holes(fit, start):
    allocator = holes_of(10, 4, 20, fit=fit)
    assert allocator.allocate(3) == Run(start, 3)


@pytest.mark.parametrize(
    ("declared", "prompt", "generated", "wasted"), [(2048, 7, 1 + 2, 2038), (512, 3, 1 + 1, 507)]
)
def test_reserving_the_maximum_wastes_what_never_comes(declared, prompt, generated, wasted):
    """The course notes' requests A and B: internal fragmentation."""
    allocator = ContiguousAllocator(4096)
    run = allocator.allocate(declared)
    assert run.length - (prompt + generated) == wasted
    assert allocator.used_slots == declared


def test_free_slots_in_pieces_serve_no_request():
    """External fragmentation: 12 slots are free, and a request for 8 is refused."""
    allocator = ContiguousAllocator(24)
    runs = [allocator.allocate(4) for _ in range(6)]
    for run in runs[::2]:
        allocator.free(run)
    assert (allocator.free_slots, allocator.largest_hole) == (12, 4)
    with pytest.raises(OutOfMemory, match="12 slots are free, no 8 in one run"):
        allocator.allocate(8)
    allocator.free(runs[1])
    assert allocator.allocate(8) == Run(0, 8)


def test_what_is_given_back_joins_the_holes_on_both_sides():
    allocator = ContiguousAllocator(12)
    one, two, three = (allocator.allocate(4) for _ in range(3))
    allocator.free(one)
    allocator.free(three)
    assert allocator.holes == [one, three]
    allocator.free(two)
    assert allocator.holes == [Run(0, 12)]


@pytest.mark.parametrize("run", [Run(0, 3), Run(1, 3), Run(4, 4)])
def test_only_what_was_allocated_is_freed(run):
    allocator = ContiguousAllocator(8)
    allocator.allocate(4)
    with pytest.raises(KernelPanic, match="free: nobody holds"):
        allocator.free(run)


def test_a_run_has_a_slot():
    with pytest.raises(KernelPanic, match="a run of 0 slots"):
        ContiguousAllocator(8).allocate(0)


def test_nothing_can_be_allocated_from_nothing():
    assert ContiguousAllocator(0).largest_hole == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda allocator: allocator.holes.pop(),
        lambda allocator: allocator.holes.append(Run(12, 4)),
        lambda allocator: allocator.holes.__setitem__(0, Run(0, 3)),
        lambda allocator: allocator.holes.__setitem__(slice(0, 1), [Run(0, 2), Run(2, 2)]),
        lambda allocator: allocator._lengths.clear(),
    ],
)
def test_the_audit_sees_damage(damage):
    allocator = ContiguousAllocator(12)
    first, second = allocator.allocate(4), allocator.allocate(4)
    allocator.free(first)
    allocator.audit([second])
    damage(allocator)
    with pytest.raises(KernelPanic, match="audit"):
        allocator.audit([second])


@pytest.mark.parametrize("fit", FITS)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=60))
@settings(max_examples=40, deadline=None)
def test_an_allocator_agrees_with_a_row_of_slots(fit, steps):
    """The model: a string of slots; the holes are what lies between the others."""
    allocator, slots, held = ContiguousAllocator(32, fit), [False] * 32, []
    for allocating, number in steps:
        if allocating:
            text = "".join("x" if used else "." for used in slots)
            longest = max(map(len, text.split("x")))
            assert allocator.largest_hole == longest
            if number > longest:
                with pytest.raises(OutOfMemory):
                    allocator.allocate(number)
                continue
            run = allocator.allocate(number)
            assert not any(slots[run.start : run.end])
            slots[run.start : run.end] = [True] * number
            held.append(run)
        elif held:
            run = held.pop(number % len(held))
            slots[run.start : run.end] = [False] * run.length
            allocator.free(run)
        allocator.audit(held)
        assert allocator.used_slots == sum(slots)
        assert allocator.free_slots + allocator.used_slots == 32
