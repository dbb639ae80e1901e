"""Lazy allocation: a page comes when it is touched, and only where one was promised."""

from typing import Final

from nexemu.grade.checks.check import Check
from nexemu.grade.primitive import Function
from nexemu.grade.testbed.expect import equal, killed, true
from nexemu.grade.testbed.program import BREAK, GUARD
from nexemu.grade.testbed.puppet import Puppet
from nexemu.grade.testbed.testbed import Testbed
from nexemu.memlayout import TRAMPOLINE, TRAPFRAME
from nexemu.riscv import MAXVA, PGSIZE, VA, Cause

GIB: Final = 1 << 30


def sbrk_maps_nothing(bed: Testbed) -> None:
    """Growing by 64 pages moves the break, and neither maps a page nor takes a frame."""
    p = bed.start()
    free, resident = bed.free, p.resident
    p.grow(64)
    equal("pages that sbrk(+64 pages) maps", p.resident - resident, 0)
    equal("frames that sbrk(+64 pages) takes", free - bed.free, 0)


def first_store(bed: Testbed) -> None:
    """The first store to a heap page maps this page, and a second one does not fault."""
    p = bed.start()
    heap = p.grow(8)
    resident, faults = p.resident, bed.calls(Function.PAGE_FAULT)
    p.store(heap + 3 * PGSIZE + 5, 0x5A)
    equal("pages that the first store to the heap maps", p.resident - resident, 1)
    equal("what lies there afterwards", p.peek(heap + 3 * PGSIZE + 5), b"\x5a", bytes.hex)
    p.store(heap + 3 * PGSIZE + 6, 0x5B)
    equal("page faults of two stores to one page", bed.calls(Function.PAGE_FAULT) - faults, 1)


def first_load(bed: Testbed) -> None:
    """A load from an untouched heap page reads 0; the page is mapped then, and can be written."""
    p = bed.start()
    heap = p.grow(8)
    resident = p.resident
    equal("what a load from an untouched heap page reads", p.load(heap + 2 * PGSIZE + 9), 0)
    equal("pages that the load maps", p.resident - resident, 1)
    p.store(heap + 2 * PGSIZE + 9, 4)
    equal("what a store leaves there", p.peek(heap + 2 * PGSIZE + 9), b"\x04", bytes.hex)


def fresh_page_is_zero(bed: Testbed) -> None:
    """Every byte of a page that was just touched is zero, but the one that was stored."""
    p = bed.start()
    heap = p.grow(2)
    p.must_be_untouched(heap)
    p.store(heap + 1000, 0xFF)
    equal("bytes of a fresh page that are not zero, beside the one stored", nonzero(p, heap), 1)


def nonzero(p: Puppet, page: VA) -> int:
    """How many bytes of ``page`` are not zero."""
    content = p.peek(page, PGSIZE)
    true(f"the page at {page:#x} is mapped", len(content) == PGSIZE, "it is not")
    return PGSIZE - content.count(0)


def only_touched_pages(bed: Testbed) -> None:
    """Of 32 pages five are touched, in no particular order: five are mapped."""
    p = bed.start()
    heap = p.grow(32)
    resident = p.resident
    touched = (30, 17, 16, 3, 0)
    for page in touched:
        p.store(heap + page * PGSIZE, 1)
    equal("pages mapped after stores to 5 of 32", p.resident - resident, len(touched))
    holes = [page for page in range(32) if page not in touched and p.frame(heap + page * PGSIZE)]
    equal("untouched pages that are mapped", holes, [])


def more_than_memory(bed: Testbed) -> None:
    """A machine of 2 MiB promises 1 GiB; its first and its last byte can be used."""
    p = bed.start()
    heap = p.space.size
    p.sbrk(GIB)
    equal("the break after sbrk(1 GiB), on a machine of 2 MiB", p.space.size, heap + GIB, hex)
    p.store(heap, 1)
    p.store(heap + GIB - 1, 2)
    equal("the first byte", p.peek(heap), b"\x01", bytes.hex)
    equal("the last byte", p.peek(heap + GIB - 1), b"\x02", bytes.hex)


def the_break_is_the_border(bed: Testbed) -> None:
    """A store to the last byte below the break succeeds, one to the next byte kills."""
    p = bed.start()
    end = p.grow(3) + 3 * PGSIZE
    p.sbrk(1)
    for last in (end - 1, end):
        p.store(last, 7)
        true(f"a store to {last:#x}, below the break, succeeds", p.alive, "it kills the process")
        equal("what is there then", p.peek(last), b"\x07", bytes.hex)
    p.sbrk(-1)
    free = bed.free
    killed(f"a store to {end:#x}, the break", p.store(end, 7), Cause.STORE_PAGE_FAULT)
    equal("frames that it took", free - bed.free, 0)


def bad_addresses(bed: Testbed) -> None:
    """Loads far above the break, 4 GiB above a good address, at MAXVA and beyond kill."""
    good = BREAK + PGSIZE
    for what, va in (
        ("far above the break", 0x4000_0000),
        ("4 GiB above a good address", good + (1 << 32)),
        ("in the trapframe", TRAPFRAME),
        ("in the trampoline", TRAMPOLINE + 8),
        ("at MAXVA", MAXVA),
        ("where bit 63 is set", 1 << 63),
    ):
        p = bed.start()
        p.grow(2)
        free = bed.free
        killed(f"a load from {va:#x}, {what},", p.load(va), Cause.LOAD_PAGE_FAULT)
        equal(f"frames that the load from {va:#x} took", free - bed.free, 0)


def guard_page(bed: Testbed) -> None:
    """Loads and stores in the guard page kill, and leave its PTE as it was."""
    p, q = bed.start(), bed.start()
    before = p.pte(GUARD), q.pte(GUARD)
    killed(
        "a store to the guard page below the stack", p.store(GUARD + PGSIZE - 8, 1), Cause.STORE_PAGE_FAULT
    )
    killed("a load from the guard page", q.load(GUARD), Cause.LOAD_PAGE_FAULT)
    equal("the guard page's PTEs", (p.pte(GUARD), q.pte(GUARD)), before, str)


def heap_is_not_code(bed: Testbed) -> None:
    """A jump to an untouched heap page kills, and takes no frame."""
    p = bed.start()
    heap = p.grow(4)
    p.must_be_untouched(heap + PGSIZE)
    free = bed.free
    killed("a jump to an untouched heap page", p.jump(heap + PGSIZE), Cause.INSTRUCTION_PAGE_FAULT)
    equal("frames that the jump took", free - bed.free, 0)


def heap_page_is_not_executable(bed: Testbed) -> None:
    """A jump to a heap page that holds data kills."""
    p = bed.start()
    heap = p.grow(4)
    p.store(heap, 0x13)
    killed("a jump to a heap page that holds data", p.jump(heap), Cause.INSTRUCTION_PAGE_FAULT)


def out_of_memory(bed: Testbed) -> None:
    """Whoever touches a page when no frame is left is killed, nobody else, and only then."""
    p, q = bed.start(), bed.start()
    heap, other = p.grow(64), q.grow(2)
    q.store(other, 9)
    p.must_be_untouched(heap)
    bed.keep_only(12)
    touched = 0
    while p.alive and touched < 64:
        p.store(heap + touched * PGSIZE, 1)
        touched += 1
    true("touching more pages than there are frames kills the process", not p.alive, "it lives on")
    true(
        "it dies when the frames are used up, not before", bed.free <= 1, f"{bed.free} frames are still free"
    )
    equal("the other process's byte", q.peek(other), b"\x09", bytes.hex)
    bed.reap(p)
    q.store(other + PGSIZE, 8)
    true("the other process can go on when memory is back", q.alive, "it was killed")
    equal("its new byte", q.peek(other + PGSIZE), b"\x08", bytes.hex)


CHECKS: Final = (
    Check("lazy: sbrk maps nothing", sbrk_maps_nothing, "sbrk: growing is a promise; no page comes of it"),
    Check("lazy: a page comes at its first store", first_store, "page_fault: a page below the break"),
    Check("lazy: a page comes at its first load", first_load, "page_fault: a page below the break, READ"),
    Check("lazy: a fresh page is zero", fresh_page_is_zero, "page_fault: what a fresh page holds; kalloc"),
    Check("lazy: only touched pages come", only_touched_pages, "page_fault: one page at a time"),
    Check("lazy: more than memory", more_than_memory, "sbrk: the promise may exceed memory", frames=256),
    Check(
        "lazy: the break is the border",
        the_break_is_the_border,
        "page_fault: the break",
    ),
    Check("lazy: bad addresses kill", bad_addresses, "page_fault: addresses that are nobody's"),
    Check("lazy: the guard page stays", guard_page, "page_fault: a page that forbids the access"),
    Check("lazy: an untouched page is no code", heap_is_not_code, "page_fault: FETCH"),
    Check(
        "lazy: the heap is not executable",
        heap_page_is_not_executable,
        "page_fault: a heap page's rights",
    ),
    Check("lazy: out of memory", out_of_memory, "page_fault: OutOfMemory", frames=256),
)
