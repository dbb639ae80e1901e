"""Copy-on-write fork: pages are shared until somebody writes, and nobody notices."""

from typing import Final

from nexemu.grade.checks.check import Check
from nexemu.grade.primitive import Function
from nexemu.grade.testbed.expect import equal, head, killed, true
from nexemu.grade.testbed.program import ANSWER, CODE, DATA, DATA_PAGE, STACK, TEXT, TEXT_PAGE
from nexemu.grade.testbed.puppet import Puppet
from nexemu.grade.testbed.testbed import Testbed
from nexemu.riscv import PGSIZE, PTE_RWX, PTE_U, PTE_V, VA, Cause, flags_text

RIGHTS: Final = PTE_RWX | PTE_U | PTE_V


def fork_copies_nothing(bed: Testbed) -> None:
    """Fork shares every page, and takes no frame but for the child's own tables."""
    p = bed.start()
    heap = p.grow_and_store(16)
    free = bed.free
    c = p.fork()
    pages = [DATA, STACK, *range(heap, heap + 16 * PGSIZE, PGSIZE)]
    equal("pages that parent and child share", _shared(p, c, pages), len(pages))
    own = 1 + sum(1 for _ in c.space.table.table_frames())
    equal("frames that fork takes, beside the child's trapframe and page tables", free - bed.free - own, 0)


def child_store(bed: Testbed) -> None:
    """After the child's store to a shared page, the parent's page is as it was."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    c.store(DATA + 10, 0xEE)
    equal("the parent's page", p.peek(DATA, PGSIZE), DATA_PAGE, head)
    equal("the child's page", c.peek(DATA, PGSIZE), DATA_PAGE[:10] + b"\xee" + DATA_PAGE[11:], head)


def parent_store(bed: Testbed) -> None:
    """After the parent's store to a shared page, the child's page is as it was."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    p.forget_translations()
    p.store(DATA + 10, 0xEE)
    equal("the child's page", c.peek(DATA, PGSIZE), DATA_PAGE, head)
    equal("the parent's page", p.peek(DATA, PGSIZE), DATA_PAGE[:10] + b"\xee" + DATA_PAGE[11:], head)


def store_right_after_fork(bed: Testbed) -> None:
    """The parent has just written to a page, forks, and writes again: the child's stays."""
    p = bed.start()
    p.store(DATA, 1)  # the hart knows now that p may write there
    c = p.fork()
    p.must_share(c, DATA)
    p.store(DATA, 2)
    equal("the child's byte, after the parent's store", c.peek(DATA), b"\x01", bytes.hex)


def last_owner(bed: Testbed) -> None:
    """When the other one has its copy, a store takes no frame and keeps the page's own."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    c.store(DATA, 1)
    frame, free = p.frame(DATA), bed.free
    p.store(DATA, 2)
    equal("frames that the last owner's store takes", free - bed.free, 0)
    equal("the last owner's frame", p.frame(DATA), frame, hex)


def one_fault_a_page(bed: Testbed) -> None:
    """In child and parent, the first store to a shared page faults once, the second not."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    for who, puppet in (("child", c), ("parent", p)):
        before = bed.calls(Function.PAGE_FAULT)
        puppet.forget_translations()
        puppet.store(DATA, 1)
        equal(f"page faults of the {who}'s first store", bed.calls(Function.PAGE_FAULT) - before, 1)
        puppet.forget_translations()
        puppet.store(DATA + 1, 1)
        equal(f"page faults of the {who}'s second store", bed.calls(Function.PAGE_FAULT) - before - 1, 0)


def loads_do_not_fault(bed: Testbed) -> None:
    """Loads from a shared page need no page fault."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, DATA)
    before = bed.calls(Function.PAGE_FAULT)
    equal("what the child loads from a shared page", c.load(DATA), DATA_PAGE[0])
    equal("what the parent loads from it", p.load(DATA), DATA_PAGE[0])
    equal("page faults of loads from shared pages", bed.calls(Function.PAGE_FAULT) - before, 0)


def three_generations(bed: Testbed) -> None:
    """A process, its child and its grandchild write to one page; each sees its own byte."""
    p = bed.start()
    c = p.fork()
    g = c.fork()
    p.must_share(c, DATA)
    c.must_share(g, DATA)
    for puppet, byte in ((g, 3), (c, 2), (p, 1)):
        puppet.forget_translations()
        puppet.store(DATA, byte)
        true(f"pid {puppet.pid} can write", puppet.alive, "it was killed")
    equal("what the three see", p.peek(DATA) + c.peek(DATA) + g.peek(DATA), b"\1\2\3", bytes.hex)


def text_stays_read_only(bed: Testbed) -> None:
    """Stores to text kill: before fork, and in parent, child and grandchild after it."""
    alone = bed.start()
    killed("a store to text before any fork", alone.store(TEXT + 256, 1), Cause.STORE_PAGE_FAULT)
    p = bed.start()
    c = p.fork()
    g = c.fork()
    for who, puppet in (("a grandchild's", g), ("a child's", c), ("a parent's", p)):
        killed(f"{who} store to text", puppet.store(TEXT + 256, 1), Cause.STORE_PAGE_FAULT)
    equal("the text", p.peek(TEXT, PGSIZE), TEXT_PAGE, head)


def rights_survive(bed: Testbed) -> None:
    """A page that was readable, writable and executable is so again after a store."""
    p = bed.start()
    before = {va: p.rights(va) & RIGHTS for va in (DATA, CODE, STACK)}
    c = p.fork()
    p.must_share(c, CODE)
    for puppet in (c, p):
        for va, rights in before.items():
            puppet.forget_translations()
            puppet.store(va + 64, 0)
            after = puppet.rights(va) & RIGHTS
            equal(f"rights of pid {puppet.pid}'s page at {va:#x} after its store", after, rights, flags_text)


def code_can_run(bed: Testbed) -> None:
    """Code in a shared page can be called by parent and child."""
    p = bed.start()
    c = p.fork()
    p.must_share(c, CODE)
    equal("what the child's call of code in a shared page returns", c.jump(CODE), ANSWER)
    equal("what the parent's returns", p.jump(CODE), ANSWER)


def many_owners(bed: Testbed) -> None:
    """257 processes share a page; one writes, and no other one sees it."""
    p = bed.start()
    children = [p.fork() for _ in range(256)]
    p.must_share(children[100], DATA)
    children[100].store(DATA, 0xEE)
    others = [p, *children[:100], *children[101:]]
    changed = [puppet.pid for puppet in others if puppet.peek(DATA) != DATA_PAGE[:1]]
    equal("processes that see another one's store, of 257 that shared the page", len(changed), 0)


def copy_out_of_memory(bed: Testbed) -> None:
    """With four frames left a child can have four copies, then dies; its parent does not."""
    p = bed.start()
    heap = p.grow_and_store(8)
    c = p.fork()
    equal("shared heap pages", _shared(p, c, range(heap, heap + 8 * PGSIZE, PGSIZE)), 8)
    bed.keep_only(4)
    written = 0
    while c.alive and written < 8:
        c.store(heap + written * PGSIZE, 0xEE)
        written += c.alive
    equal("copies that the child could have with 4 frames left", written, 4)
    equal("the parent's bytes", _firsts(p, heap, 8), bytes(range(1, 9)), bytes.hex)
    equal("what wait returns", p.wait(), c.pid)
    equal("the parent's bytes when the child is gone", _firsts(p, heap, 8), bytes(range(1, 9)), bytes.hex)


def _firsts(p: Puppet, heap: VA, pages: int) -> bytes:
    return b"".join(p.peek(heap + page * PGSIZE) for page in range(pages))


def _shared(p: Puppet, c: Puppet, pages: "range | list[VA]") -> int:
    return sum(p.frame(va) != 0 and p.frame(va) == c.frame(va) for va in pages)


CHECKS: Final = (
    Check("cow: fork copies no page", fork_copies_nothing, "fork_copy: pages are shared"),
    Check("cow: the child's store is its own", child_store, "page_fault: a store to a shared page"),
    Check("cow: the parent's store is its own", parent_store, "fork_copy: W, on both sides"),
    Check(
        "cow: a store right after fork",
        store_right_after_fork,
        "sfence_vma: when the hart must forget",
    ),
    Check(
        "cow: the last owner keeps the frame",
        last_owner,
        "page_fault: a store by the only holder",
    ),
    Check("cow: one fault a page", one_fault_a_page, "page_fault: what the PTE allows afterwards"),
    Check("cow: loads do not fault", loads_do_not_fault, "fork_copy: what a shared page still allows"),
    Check("cow: three generations", three_generations, "fork_copy: a page that is shared already"),
    Check("cow: text stays read-only", text_stays_read_only, "fork_copy: pages that were not writable"),
    Check("cow: rights survive", rights_survive, "fork_copy and page_fault: the other flags of a page"),
    Check("cow: shared code runs", code_can_run, "fork_copy: what a shared page still allows"),
    Check("cow: 257 owners", many_owners, "page_fault: how many hold the frame", frames=4096, nproc=300),
    Check("cow: out of memory", copy_out_of_memory, "page_fault: OutOfMemory"),
)
