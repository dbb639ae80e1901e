"""Fork and holes, fork and failure, and where every frame goes in the end."""

from typing import Final

from nexemu.grade.checks.check import Check
from nexemu.grade.testbed.expect import equal, head, killed, true
from nexemu.grade.testbed.program import DATA, DATA_PAGE, GUARD
from nexemu.grade.testbed.puppet import Puppet
from nexemu.grade.testbed.testbed import Testbed
from nexemu.riscv import PGSIZE, VA, Cause

PAGES: Final = 1100
"""More than two last-level page tables, so that some holes have not even a table."""


def holes_are_no_problem(bed: Testbed) -> None:
    """Fork of a heap of 1100 pages, of which three were touched, succeeds."""
    p = bed.start()
    heap = _with_holes(p)
    c = p.fork()
    equal("the child's byte behind the holes", c.peek(heap + (PAGES - 1) * PGSIZE), b"\x09", bytes.hex)


def guard_page(bed: Testbed) -> None:
    """Stores below the stack page kill in a child as well."""
    c = bed.start().fork()
    killed("a child's store below its stack", c.store(GUARD + PGSIZE - 8, 1), Cause.STORE_PAGE_FAULT)


def holes_stay_holes(bed: Testbed) -> None:
    """Fork maps nothing that was not mapped, neither in the parent nor in the child."""
    p = bed.start()
    _with_holes(p)
    resident = p.resident
    c = p.fork()
    equal("the parent's mapped pages after fork", p.resident, resident)
    equal("the child's mapped pages", c.resident, resident)


def the_child_inherits(bed: Testbed) -> None:
    """The child can touch a page that was promised to its parent."""
    p = bed.start()
    heap = p.grow(8)
    p.must_be_untouched(heap + 5 * PGSIZE)
    c = p.fork()
    equal("the child's break", c.space.size, p.space.size, hex)
    resident = p.resident
    c.store(heap + 5 * PGSIZE, 7)
    true("the child can use a page that was promised to its parent", c.alive, "it is killed")
    equal("the child's byte", c.peek(heap + 5 * PGSIZE), b"\x07", bytes.hex)
    equal("the parent's mapped pages", p.resident, resident)


def fails_cleanly(bed: Testbed) -> None:
    """Fork fails at each of its allocations in turn: it returns -1, and no frame or count is lost."""
    p = bed.start()
    free, resident = bed.free, p.resident
    for number in range(1, 60):
        bed.fail_allocation(number)
        result = p.try_fork()
        bed.fail_allocation(None)
        if result != -1:
            break
        lost = free - bed.free
        equal(f"frames lost by a fork that failed at its allocation number {number}", lost, 0)
        equal("the parent's data", p.peek(DATA, PGSIZE), DATA_PAGE, head)
        bed.audit()
    child = bed.puppet(result)
    equal("mapped pages of a child whose fork succeeded", child.resident, resident)
    p.store(DATA, 1)
    true("the parent can write after failed forks", p.alive, "it was killed")


def books_after_fork(bed: Testbed) -> None:
    """After a fork, and a fork of the child, each frame's count is right."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    bed.audit()
    c.fork()
    bed.audit()


def books_after_break(bed: Testbed) -> None:
    """After the child's store and the parent's, each frame's count is right."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    for who in (c, p):
        who.store(DATA, 1)
        bed.audit()


def books_after_copyout(bed: Testbed) -> None:
    """After pipe() into a shared page, in both, each frame's count is right."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    c.pipe(DATA)
    bed.audit()
    p.pipe(DATA)
    bed.audit()


def books_after_shrink(bed: Testbed) -> None:
    """After child and parent give shared pages back, each frame's count is right."""
    p = bed.start()
    heap = p.grow_and_store(4)
    c = p.fork()
    p.must_share(c, heap)
    c.sbrk(-4 * PGSIZE)
    bed.audit()
    p.sbrk(-2 * PGSIZE)
    bed.audit()


def one_owner_ends(bed: Testbed) -> None:
    """When the child ends, the parent's pages are still there, held once."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    c.exit()
    equal("what wait returns", p.wait(), c.pid)
    equal("the page that the parent shared with the dead child", p.peek(DATA, PGSIZE), DATA_PAGE, head)
    true("the parent still holds its page", bed.count(p.frame(DATA)) == 1, p.state_of(DATA))


def everything_comes_back(bed: Testbed) -> None:
    """When all processes have ended, all frames are free again."""
    free = bed.free
    p = bed.start()
    c = p.fork()
    for who in (p, c):
        heap = who.grow(600)
        who.store(heap, 1)
        who.store(heap + 599 * PGSIZE, 1)
        who.store(DATA, 2)
    p.exit()
    bed.reap(p)
    c.store(heap + 300 * PGSIZE, 3)
    c.exit()
    bed.reap(c)
    equal("frames that are lost when all processes have ended", free - bed.free, 0)
    bed.audit()


def _with_holes(p: Puppet) -> VA:
    """A heap of which only the first page, one in the middle and the last were touched."""
    heap = p.grow(PAGES)
    for page, byte in ((0, 1), (PAGES // 2, 5), (PAGES - 1, 9)):
        p.store(heap + page * PGSIZE, byte)
        true("a store to the heap succeeds", p.alive, "it kills the process")
    p.must_be_untouched(heap + PGSIZE)
    return heap


CHECKS: Final = (
    Check(
        "fork: holes are no problem",
        holes_are_no_problem,
        "fork_copy: holes",
        frames=2500,
    ),
    Check("fork: holes stay holes", holes_stay_holes, "fork_copy: holes", frames=2500),
    Check("fork: the child inherits the promise", the_child_inherits, "fork_copy: the child's size"),
    Check("fork: the guard page stays", guard_page, "fork_copy: pages that the program cannot use"),
    Check("fork: fails cleanly", fails_cleanly, "fork_copy: OutOfMemory on the way"),
    Check("frames: the books after fork", books_after_fork, "fork_copy: incref"),
    Check("frames: the books after a break", books_after_break, "page_fault: the old frame"),
    Check("frames: the books after copyout", books_after_copyout, "prepare_copyout: the old frame"),
    Check("frames: the books after shrinking", books_after_shrink, "sbrk: shared pages that go"),
    Check("frames: one owner ends", one_owner_ends, "release: one hold fewer on each page"),
    Check("frames: everything comes back", everything_comes_back, "release: every page", frames=2500),
)
