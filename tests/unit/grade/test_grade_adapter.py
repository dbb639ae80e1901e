"""From the kernel's seam to a student's functions, and whether the answer was one."""

import pytest

from nexemu.abi import PROT_READ, PROT_WRITE
from nexemu.errors import BadAddress, BadCall, OutOfMemory
from nexemu.events import PageFault, Sbrk
from nexemu.grade.primitive import Function
from nexemu.grade.student.adapter import handler_of
from nexemu.grade.student.local import LocalStudent
from nexemu.grade.student.source import HandlerFailed
from nexemu.mem.area import Area
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import PGSIZE, PTE_A, PTE_COW, PTE_D, PTE_R, PTE_U, PTE_V, PTE_W, Access, pa2pte, pte2pa

HEAP = 0


class Scripted:
    """A student whose answers the test writes: one callable for each function."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def call(self, function, spaces, a=0, b=0):
        self.asked.append(function)
        return self.answers[function.called](*spaces, a) or 0


@pytest.fixture
def bed(make_memory):
    """A memory whose handler is a scripted student, one space in it, and the events."""

    def make(**answers):
        student = Scripted(release=unmap_all, **answers)
        events = []
        memory = make_memory(handler=handler_of(student, events.append))
        space = memory.space()
        space.size = 4 * PGSIZE
        return memory, space, student, events

    return make


def unmap_all(space, _a):
    space.table.unmap(0, space.limit, space.frames.kfree_leaves)


def maps(flags):
    def answer(space, va):
        space.table.mappages(va & -PGSIZE, PGSIZE, space.frames.kalloc_zeroed(), flags)

    return answer


def refuses(error):
    def answer(*_):
        raise error

    return answer


def test_a_fault_that_is_handled_is_reported_with_accessed_and_dirty(bed):
    _, space, _, events = bed(page_fault=maps(PTE_R | PTE_W | PTE_U))
    pte = space.translate(HEAP, Access.WRITE)
    assert pte == space.table.pte(HEAP)
    assert pte & (PTE_V | PTE_R | PTE_W | PTE_U | PTE_A | PTE_D) == pte & 0x3FF
    assert events == [PageFault(space.pid, "lazy", HEAP, "write", 0, pte, "user")]


def test_a_load_leaves_the_page_clean(bed):
    _, space, _, _ = bed(page_fault=maps(PTE_R | PTE_W | PTE_U))
    space.translate(HEAP, Access.READ)
    assert space.table.pte(HEAP) & (PTE_A | PTE_D) == PTE_A


def test_a_fault_that_is_handled_without_effect_is_a_failure(bed):
    _, space, _, _ = bed(page_fault=lambda space, va: None)
    with pytest.raises(HandlerFailed, match="left the PTE as it was, and the READ at 0x0 would fault again"):
        space.translate(HEAP, Access.READ)


def test_a_fault_that_is_handled_with_the_wrong_effect_too(bed):
    _, space, _, _ = bed(page_fault=maps(PTE_R | PTE_U))
    with pytest.raises(HandlerFailed, match="changed the PTE, and the WRITE at 0x0 would fault again"):
        space.translate(HEAP, Access.WRITE)


def test_a_copy_on_write_fault_is_a_copy_or_a_reuse(bed):
    def give_w_back(space, va):
        index = space.table.walk(va)
        space.table.words[index] = space.table.words[index] & ~PTE_COW | PTE_W

    _, space, _, events = bed(page_fault=give_w_back)
    space.table.mappages(HEAP, PGSIZE, space.frames.kalloc(), PTE_R | PTE_U | PTE_COW)
    space.translate(HEAP, Access.WRITE)
    assert [event.kind for event in events] == ["cow-reuse"]


def test_copyin_and_copyout_ask_their_own_functions(bed):
    answer = maps(PTE_R | PTE_W | PTE_U)
    _, space, student, events = bed(prepare_copyin=answer, prepare_copyout=answer)
    space.translate(HEAP, Access.READ, by_kernel=True)
    space.translate(PGSIZE, Access.WRITE, by_kernel=True)
    assert student.asked == [Function.PREPARE_COPYIN, Function.PREPARE_COPYOUT]
    assert [event.by for event in events] == ["kernel", "kernel"]


def test_refusals_pass(bed):
    for error in (BadAddress(HEAP, "no"), OutOfMemory("no"), BadCall("no")):
        _, space, _, _ = bed(page_fault=refuses(error))
        with pytest.raises(type(error)):
            space.translate(HEAP, Access.READ)


def test_mmap_areas_are_the_kernels_business(bed):
    memory, space, student, events = bed(fork_copy=lambda parent, child, _: None)
    start = TRAPFRAME - 2 * PGSIZE
    space.areas.append(Area(start, 2 * PGSIZE, PROT_READ | PROT_WRITE))
    space.translate(start, Access.WRITE)
    memory.ram.write(pte2pa(space.table.pte(start)), b"area")
    with pytest.raises(BadAddress):
        space.translate(start + PGSIZE, Access.WRITE, by_kernel=True)
    child = memory.fork(space)
    assert memory.ram.read(pte2pa(child.table.pte(start)), 4) == b"area"
    assert child.table.pte(start) != space.table.pte(start), "copied, not shared"
    assert child.table.pte(start + PGSIZE) == 0
    assert student.asked == [Function.FORK_COPY]
    assert [event.kind for event in events] == []


def test_fork_counts_what_is_shared_and_what_is_copied(bed):
    def half(parent, child, _):
        for va, pa in ((0, pte2pa(parent.table.pte(0))), (PGSIZE, child.frames.kalloc())):
            child.table.mappages(va, PGSIZE, pa, PTE_R | PTE_U)
        child.frames.incref(pte2pa(child.table.pte(0)))

    memory, space, _, _ = bed(fork_copy=half)
    for va in (0, PGSIZE):
        space.table.mappages(va, PGSIZE, space.frames.kalloc(), PTE_R | PTE_U)
    child = memory.space()
    assert space.paging.handler.fork_copy(space, child) == (1, 1)


def test_fork_and_release_cannot_refuse(bed):
    memory, space, student, _ = bed(fork_copy=refuses(BadCall("not today")))
    with pytest.raises(HandlerFailed, match="fork_copy raised BadCall: not today"):
        space.paging.handler.fork_copy(space, memory.space())
    student.answers["release"] = refuses(BadAddress(0, "mine"))
    with pytest.raises(HandlerFailed, match="release raised BadAddress"):
        space.paging.handler.release(space)
    student.answers["release"] = unmap_all


def test_release_must_unmap_everything(bed):
    _, space, student, _ = bed()
    space.table.mappages(PGSIZE, PGSIZE, space.frames.kalloc(), PTE_R | PTE_U)
    student.answers["release"] = lambda space, _: None
    with pytest.raises(HandlerFailed, match="release left the page at 0x1000 mapped"):
        space.paging.handler.release(space)
    student.answers["release"] = unmap_all


def test_sbrk_is_told_as_an_event(bed):
    def grow(space, n):
        space.size += n
        maps(PTE_R | PTE_U)(space, 0)
        return space.size - n

    _, space, _, events = bed(sbrk=grow)
    assert space.paging.handler.sbrk(space, 100, False) == 4 * PGSIZE
    assert events == [Sbrk(space.pid, 4 * PGSIZE, 4 * PGSIZE + 100, 1, 0)]


def test_a_program_that_wants_its_pages_at_once_gets_them(bed):
    def grow(space, n):
        space.size += n
        return space.size - n

    memory, space, student, _ = bed(sbrk=grow, page_fault=maps(PTE_R | PTE_W | PTE_U))
    space.paging.handler.sbrk(space, 3 * PGSIZE, True)
    assert space.mapped_pages() == 3
    memory.frames.fail_at = 2
    student.answers["sbrk"] = grow
    with pytest.raises(OutOfMemory):
        space.paging.handler.sbrk(space, 3 * PGSIZE, True)
    assert space.size == 7 * PGSIZE


TEXT = """
from nexemu.grade.kit import PTE_R, PTE_U, PTE_W, PGSIZE, pgrounddown

def page_fault(space, va, access):
    pa = space.kalloc()
    space.memset(pa, 7)
    space.mappages(pgrounddown(va), PGSIZE, pa, PTE_R | PTE_W | PTE_U)

def release(space):
    space.uvmunmap(0, space.size // PGSIZE, True)

sbrk = prepare_copyin = prepare_copyout = fork_copy = print
"""


def test_a_text_can_be_the_student(make_memory):
    memory = make_memory(handler=handler_of(LocalStudent(TEXT, "handler.py"), None))
    space = memory.space()
    space.size = PGSIZE
    pte = space.translate(5, Access.READ)
    assert memory.ram.read(pte2pa(pte), 1) == b"\7"
    assert pte & ~0x3FF == pa2pte(pte2pa(pte))
