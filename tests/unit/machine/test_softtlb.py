"""When the soft TLB is flushed so that it grows: driven against a model of QEMU's."""

import pytest

from nexemu.machine.softtlb import NO_PAGE, SMALLEST, SoftTlb

PAGE = 4096


class Qemu:
    """Direct-mapped, and doubled by a flush that finds more than 70 % of it in use. The hart's part, too:
    ``touch`` counts a miss and flushes when it is told to."""

    def __init__(self, size=SMALLEST):
        self.size = size
        self.soft = SoftTlb()
        self.entries = {}
        self.misses = self.flushes = 0

    def flush(self):
        if len(self.entries) > self.size * 7 // 10:
            self.size *= 2
        self.entries.clear()
        self.flushes += 1

    def switch(self):
        self.flush()
        self.soft.flushed()

    def touch(self, page):
        if self.entries.get(page % self.size) == page:
            return
        self.misses += 1
        self.soft.granted -= 1
        if (self.soft.granted == 0 or page * PAGE == self.soft.watched) and self.soft.look(page * PAGE):
            self.flush()
        self.entries[page % self.size] = page

    def stream(self, pages, rounds):
        for _ in range(rounds):
            for page in range(pages):
                self.touch(page)


@pytest.mark.parametrize("size", [SMALLEST, 1 << 12, 1 << 15])
@pytest.mark.parametrize("pages", [300, 5_000, 33_000])
def test_a_streaming_program_soon_has_all_its_pages_whatever_the_size_was(size, pages):
    """Where a few pages too many share an entry, those few go on missing."""
    tlb = Qemu(size)
    tlb.stream(pages, 5)
    assert tlb.misses < 9 * pages
    before = tlb.misses
    tlb.stream(pages, 3)
    too_many = max(0, pages - tlb.size)
    assert tlb.misses - before == 3 * 2 * too_many
    assert too_many < pages // 3


def test_a_tlb_that_is_large_enough_is_never_flushed():
    tlb = Qemu(1 << 16)
    tlb.stream(33_000, 20)
    assert (tlb.flushes, tlb.misses) == (0, 33_000)


def test_switching_between_processes_keeps_the_size():
    tlb = Qemu(1 << 16)
    for _ in range(6):
        tlb.stream(33_000, 2)
        tlb.switch()
        tlb.stream(20, 2)
        tlb.switch()
    assert (tlb.size, tlb.flushes) == (1 << 16, 12)


def test_few_pages_that_collide_cause_no_flushes():
    tlb = Qemu(SMALLEST)
    for _ in range(20):
        tlb.touch(0)
        tlb.touch(SMALLEST)
    assert tlb.flushes == 0


def test_a_flush_forgets_the_watched_page():
    soft = SoftTlb()
    assert not soft.look(7 * PAGE)
    assert soft.watched == 7 * PAGE
    soft.flushed()
    assert (soft.watched, soft.granted) == (NO_PAGE, SMALLEST)
