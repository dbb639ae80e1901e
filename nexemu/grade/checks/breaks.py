"""``sbrk``: where the break may go, and what becomes of pages above it."""

from typing import Final

from nexemu.grade.checks.check import Check
from nexemu.grade.checks.lazy import nonzero
from nexemu.grade.testbed.expect import equal, killed
from nexemu.grade.testbed.testbed import Testbed
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import PGSIZE, Cause


def returns_the_old_break(bed: Testbed) -> None:
    """Sbrk returns the old break, whether it grows, shrinks, or stays."""
    p = bed.start()
    start = p.space.size
    for n, old in ((0, start), (100, start), (5000, start + 100), (-5100, start + 5100), (0, start)):
        equal(f"what sbrk({n}) returns", p.sbrk(n), old, hex)
        equal(f"the break after sbrk({n})", p.space.size, old + n, hex)


def refuses_the_impossible(bed: Testbed) -> None:
    """A break below 0 or above the limit is refused, and nothing has changed."""
    p = bed.start()
    start, resident = p.space.size, p.resident
    equal("what sbrk(-(break + 1)) returns", p.sbrk(-(start + 1)), -1)
    equal("the break afterwards", p.space.size, start, hex)
    equal("mapped pages afterwards", p.resident, resident)
    p.space.size = TRAPFRAME - PGSIZE  # as after many calls
    equal("what sbrk(+2 pages) returns, one page below the trapframe", p.sbrk(2 * PGSIZE), -1)
    equal("the break afterwards", p.space.size, TRAPFRAME - PGSIZE, hex)
    p.sbrk(PGSIZE)
    equal("the break after sbrk(+1 page)", p.space.size, TRAPFRAME, hex)


def shrinking_frees(bed: Testbed) -> None:
    """Shrinking by two pages gives two frames back at once; the others keep their bytes."""
    p = bed.start()
    heap = p.grow_and_store(4)
    free = bed.free
    p.sbrk(-2 * PGSIZE)
    equal("frames that sbrk(-2 pages) gives back", bed.free - free, 2)
    equal("the pages that stay", p.peek(heap, 1) + p.peek(heap + PGSIZE, 1), b"\x01\x02", bytes.hex)


def what_is_gone_is_gone(bed: Testbed) -> None:
    """A load from a page that was given back kills."""
    p = bed.start()
    heap = p.grow_and_store(4)
    p.sbrk(-2 * PGSIZE)
    killed("a load from a page that sbrk gave back", p.load(heap + 3 * PGSIZE), Cause.LOAD_PAGE_FAULT)


def partial_pages(bed: Testbed) -> None:
    """A page goes exactly when its last byte is above the break."""
    p = bed.start()
    heap = p.grow_and_store(3)
    p.sbrk(-PGSIZE + 100)
    equal("mapped pages when 100 bytes of the last one remain", p.frame(heap + 2 * PGSIZE) != 0, True)
    free = bed.free
    p.sbrk(-50)
    equal("frames that a step within a page gives back", bed.free - free, 0)
    equal("the last page's first byte", p.peek(heap + 2 * PGSIZE), b"\x03", bytes.hex)
    p.sbrk(-51)
    equal("frames that a step of one byte into the page below gives back", bed.free - free, 1)
    equal("that page's first byte", p.peek(heap + PGSIZE), b"\x02", bytes.hex)


def regrown_pages(bed: Testbed) -> None:
    """A page that was given back and grown again is zero."""
    p = bed.start()
    heap = p.grow_and_store(2)
    p.sbrk(-2 * PGSIZE)
    p.grow(2)
    p.store(heap + PGSIZE + 77, 5)
    equal("bytes that are not zero in a page given back and grown again", nonzero(p, heap + PGSIZE), 1)


CHECKS: Final = (
    Check("sbrk: returns the old break", returns_the_old_break, "sbrk: what it returns"),
    Check(
        "sbrk: refuses the impossible", refuses_the_impossible, "sbrk: the limits, and what a refusal leaves"
    ),
    Check("sbrk: shrinking gives frames back", shrinking_frees, "sbrk: which pages go with the break"),
    Check("sbrk: what is gone is gone", what_is_gone_is_gone, "sbrk: which pages go with the break"),
    Check("sbrk: partial pages", partial_pages, "sbrk: a page goes when no byte of it is below the break"),
    Check("sbrk: regrown pages are zero", regrown_pages, "page_fault: what a fresh page holds, every time"),
)
