"""When the soft TLB is flushed on a program's behalf, and by how much it grows or shrinks then."""

from nexemu.machine.softtlb import LARGEST, SMALLEST, SoftTlb


def after(tlb, misses):
    """Flush ``tlb`` when ``misses`` of those granted have happened."""
    return tlb.flushed(tlb.granted - misses)


def test_it_begins_with_qemus_smallest_size_and_grants_several_rounds():
    tlb = SoftTlb()
    assert tlb.size == SMALLEST == 256
    assert tlb.granted >= 2 * tlb.size


def test_a_full_tlb_doubles_and_is_granted_more():
    tlb = SoftTlb()
    before = tlb.granted
    assert after(tlb, tlb.size) == tlb.granted == 2 * before
    assert tlb.size == 512


def test_an_almost_empty_one_halves_and_never_goes_below_the_smallest():
    tlb = SoftTlb()
    after(tlb, 256)
    after(tlb, 10)
    after(tlb, 10)
    assert tlb.size == SMALLEST


def test_in_between_nothing_changes():
    tlb = SoftTlb()
    after(tlb, 256)
    granted = tlb.granted
    assert after(tlb, tlb.size // 2) == granted
    assert tlb.size == 512


def test_the_largest_is_not_flushed_for_being_full():
    tlb = SoftTlb()
    for _ in range(20):
        after(tlb, tlb.size)
    assert tlb.size == LARGEST
    assert tlb.granted > 1000 * LARGEST
