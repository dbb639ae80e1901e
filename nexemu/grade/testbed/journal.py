"""What happened on a testbed, kept for the case that somebody has to explain a lost point.

Two kinds of entry: what a program did, and what the handler made of it. The PTEs and the counts are
read from the machine before and after each question that the handler is asked; it has no part in
what is written here.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from nexemu.errors import GuestError
from nexemu.grade.primitive import Function
from nexemu.mem.vm import AddressSpace, Copied, Handler
from nexemu.riscv import PTE, PTE_V, VA, Access, flags_text, pte2pa

KEPT: Final = 8
"""Entries that are shown: the last ones before a point is lost."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageState:
    """A page as a page table shows it, and how many hold its frame."""

    pte: PTE
    count: int

    def __str__(self) -> str:
        if not self.pte & PTE_V:
            return "not mapped"
        return f"{flags_text(self.pte)}, frame {pte2pa(self.pte):#x} held by {self.count}"


def page_state(space: AddressSpace, va: VA) -> PageState:
    """How the page at ``va`` stands. Any 64-bit ``va`` is allowed."""
    pte = space.table.pte(va)
    frames = space.frames
    is_frame = pte & PTE_V and frames.ram.base <= pte2pa(pte) < frames.ram.end
    return PageState(pte, frames.refcount(pte2pa(pte)) if is_frame else 0)


class Journal:
    """The last entries, and how often each function was called since the beginning."""

    def __init__(self) -> None:
        self._entries: deque[str] = deque(maxlen=KEPT)
        self.calls: dict[Function, int] = dict.fromkeys(Function, 0)

    def note(self, entry: str) -> None:
        """Remember ``entry``, one or more lines."""
        self._entries.append(entry)

    @property
    def lines(self) -> list[str]:
        """The last entries, line by line."""
        return [line for entry in self._entries for line in entry.splitlines()]

    def watch(self, handler: Handler) -> Handler:
        """A handler that does what ``handler`` does, and leaves entries here."""
        watched = _Watched(self, handler)
        return Handler(
            sbrk=watched.sbrk,
            page_fault=watched.page_fault,
            prepare_copy=watched.prepare_copy,
            fork_copy=watched.fork_copy,
            release=watched.release,
        )

    def during(
        self, function: Function, question: str, answer: Callable[[], T], after: Callable[[], str]
    ) -> T:
        """Count a call of ``function``, and note the ``question``, and how it ended: what ``after`` finds, or
        what ``answer`` raised."""
        self.calls[function] += 1
        try:
            result = answer()
        except GuestError as error:
            self.note(f"  {question} says {type(error).__name__}: {error}")
            raise
        except Exception:
            self.note(f"  {question} breaks; meanwhile {after()}")
            raise
        self.note(f"  {question}: {after()}")
        return result


class _Watched:
    def __init__(self, journal: Journal, handler: Handler) -> None:
        self._journal = journal
        self._handler = handler

    def sbrk(self, space: AddressSpace, n: int, eager: bool) -> VA:
        old, mapped = space.size, space.mapped_pages()

        def change() -> str:
            return (
                f"the break goes from {old:#x} to {space.size:#x}, "
                f"mapped pages from {mapped} to {space.mapped_pages()}"
            )

        ask = self._handler.sbrk
        question = f"sbrk(pid {space.pid}, {n})"
        return self._journal.during(Function.SBRK, question, lambda: ask(space, n, eager), change)

    def page_fault(self, space: AddressSpace, va: VA, access: Access) -> PTE:
        question = f"page_fault(pid {space.pid}, {va:#x}, {access.name})"
        return self._page(Function.PAGE_FAULT, question, self._handler.page_fault, space, va, access)

    def prepare_copy(self, space: AddressSpace, va: VA, access: Access) -> PTE:
        function = Function.PREPARE_COPYOUT if access is Access.WRITE else Function.PREPARE_COPYIN
        question = f"{function.called}(pid {space.pid}, {va:#x})"
        return self._page(function, question, self._handler.prepare_copy, space, va, access)

    def _page(
        self,
        function: Function,
        question: str,
        ask: Callable[[AddressSpace, VA, Access], PTE],
        space: AddressSpace,
        va: VA,
        access: Access,
    ) -> PTE:
        before = page_state(space, va)

        def change() -> str:
            return f"the page was\n      {before}\n    and is\n      {page_state(space, va)}"

        return self._journal.during(function, question, lambda: ask(space, va, access), change)

    def fork_copy(self, parent: AddressSpace, child: AddressSpace) -> Copied:
        free = parent.frames.free_frames

        def change() -> str:
            shared = sum(
                pte2pa(leaf.pte) == pte2pa(parent.table.pte(leaf.va))
                for leaf in child.table.leaves(0, child.size)
            )
            return f"{shared} pages shared, {free - parent.frames.free_frames} frames taken"

        ask = self._handler.fork_copy
        question = f"fork_copy(pid {parent.pid}, its child)"
        return self._journal.during(Function.FORK_COPY, question, lambda: ask(parent, child), change)

    def release(self, space: AddressSpace) -> None:
        free = space.frames.free_frames

        def change() -> str:
            return f"{space.frames.free_frames - free} frames come back"

        ask = self._handler.release
        self._journal.during(Function.RELEASE, f"release(pid {space.pid})", lambda: ask(space), change)
