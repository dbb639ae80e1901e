"""From the kernel's seam to a student's functions, and back.

The kernel asks its five questions; a student answers six simpler ones. What the exercise leaves
out stays the kernel's business here: mmap areas, accessed and dirty bits, events, and to find out
whether the answer was one. A fault that is "handled" and leaves the page as it was would come
again for ever: it is reported instead.
"""

from collections.abc import Sequence
from typing import Protocol

from nexemu.errors import BadAddress, GuestError, OutOfMemory
from nexemu.events import Emit, PageFault, Sbrk
from nexemu.grade.primitive import Function
from nexemu.grade.student.source import HandlerFailed
from nexemu.mem.area import Area
from nexemu.mem.explain import why_bad
from nexemu.mem.fault import vmfault
from nexemu.mem.vm import AddressSpace, Copied, Handler
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import (
    MAXVA,
    PGSIZE,
    PTE,
    PTE_A,
    PTE_D,
    PTE_FLAGS,
    PTE_V,
    VA,
    Access,
    flags_text,
    pa2pte,
    pgrounddown,
    pgroundup,
    pte2pa,
)


class Student(Protocol):
    """Whoever answers for the student: the functions themselves, or a sandbox around them."""

    def call(self, function: Function, spaces: Sequence[AddressSpace], a: int = 0, b: int = 0) -> int:
        """Call ``function`` on ``spaces``; what ``sbrk`` returns, else 0. Raises GuestError where it says no,
        HandlerFailed where it breaks."""


def handler_of(student: Student, emit: Emit | None) -> Handler:
    """The handler that asks ``student``; ``emit`` is told what came of it."""
    adapter = _Adapter(student, emit)
    return Handler(
        sbrk=adapter.sbrk,
        page_fault=adapter.page_fault,
        prepare_copy=adapter.prepare_copy,
        fork_copy=adapter.fork_copy,
        release=adapter.release,
    )


class _Adapter:
    def __init__(self, student: Student, emit: Emit | None) -> None:
        self._ask = student.call
        self._emit = emit

    def sbrk(self, space: AddressSpace, n: int, eager: bool) -> VA:
        """The student decides when pages come. A program that asks for them at once, as xv6's can, gets
        them by touching each."""
        before, mapped = space.size, space.mapped_pages() if self._emit else 0
        old = self._ask(Function.SBRK, [space], n)
        if eager and space.paging.lazy and old >= 0:
            self._touch(space, before)
        if self._emit is not None:
            change = space.mapped_pages() - mapped
            self._emit(Sbrk(space.pid, before, space.size, max(change, 0), max(-change, 0)))
        return old

    def _touch(self, space: AddressSpace, before: VA) -> None:
        for page in range(pgroundup(before), space.size, PGSIZE):
            if not space.table.pte(page) & PTE_V:
                try:
                    self.page_fault(space, page, Access.WRITE)
                except OutOfMemory:
                    self._ask(Function.SBRK, [space], before - space.size)
                    raise

    def page_fault(self, space: AddressSpace, va: VA, access: Access) -> PTE:
        if space.area_at(va) is not None:
            return vmfault(space, va, access)
        before = space.table.pte(va)
        self._ask(Function.PAGE_FAULT, [space], va, access)
        return self._used(space, va, access, before, "user")

    def prepare_copy(self, space: AddressSpace, va: VA, access: Access) -> PTE:
        if space.area_at(va) is not None:  # copyin and copyout know nothing of mmap areas
            raise BadAddress(va, why_bad(space, va, access))
        before = space.table.pte(va)
        function = Function.PREPARE_COPYOUT if access is Access.WRITE else Function.PREPARE_COPYIN
        self._ask(function, [space], va)
        return self._used(space, va, access, before, "kernel")

    def _used(self, space: AddressSpace, va: VA, access: Access, before: PTE, by: str) -> PTE:
        """The PTE that came of it, with accessed and dirty bits as the access at hand sets them."""
        after = space.table.pte(va)
        if after & access != access:
            left = "left the PTE as it was" if after == before else "changed the PTE"
            raise HandlerFailed(
                f"the handler {left}, and the {access.name} at {va:#x} would fault again, for ever: "
                f"the PTE is {flags_text(after)}"
            )
        after |= PTE_A | (PTE_D if access is Access.WRITE else 0)
        space.table.words[space.table.walk(va)] = after
        if self._emit is not None:
            self._emit(
                PageFault(
                    space.pid, _kind(before, after), pgrounddown(va), access.name.lower(), before, after, by
                )
            )
        return after

    def fork_copy(self, parent: AddressSpace, child: AddressSpace) -> Copied:
        self._ask_without_refusal(Function.FORK_COPY, [parent, child])
        shared = copied = 0
        for leaf in child.table.leaves(0, child.limit):
            same = pte2pa(leaf.pte) == pte2pa(parent.table.pte(leaf.va))
            shared += same
            copied += not same
        return Copied(shared, copied + _copy_areas(parent, child))

    def release(self, space: AddressSpace) -> None:
        limit = space.limit
        if space.size or any(True for _ in space.table.leaves(0, limit)):
            self._ask_without_refusal(Function.RELEASE, [space])
        for leaf in space.table.leaves(0, limit):
            raise HandlerFailed(f"release left the page at {leaf.va:#x} mapped ({flags_text(leaf.pte)})")
        space.table.unmap(limit, TRAPFRAME, space.frames.kfree_leaves)

    def _ask_without_refusal(self, function: Function, spaces: Sequence[AddressSpace]) -> None:
        """For what can only run out of memory."""
        try:
            self._ask(function, spaces)
        except OutOfMemory:
            raise
        except GuestError as error:
            name = type(error).__name__
            raise HandlerFailed(
                f"{function.called} raised {name}: {error}; it has no reason to refuse"
            ) from error


def _kind(before: PTE, after: PTE) -> str:
    if not before & PTE_V:
        return "lazy"
    return "cow-reuse" if pte2pa(before) == pte2pa(after) else "cow-copy"


def _copy_areas(parent: AddressSpace, child: AddressSpace) -> int:
    """The child gets the parent's mmap areas, and copies of their present pages. Returns how many."""
    count = 0
    for area in parent.areas:
        child.areas.append(Area(area.start, area.length, area.prot, area.backing, area.offset))
        if area.backing is not None:
            area.backing.hold()
        for leaf in parent.table.leaves(area.start, min(area.end, MAXVA)):
            at = child.table.walk(leaf.va)
            child.table.words[at] = pa2pte(parent.frames.kalloc_copy(pte2pa(leaf.pte))) | leaf.pte & PTE_FLAGS
            count += 1
    return count
