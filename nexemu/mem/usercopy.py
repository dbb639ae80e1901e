"""The kernel's own copies from and to user memory.

All three go page by page through ``AddressSpace.translate`` with the right that they need, so a
lazy page appears, a shared page is split and a forbidden one is refused, exactly as if the
program had touched it itself.

xv6: copyin(), copyout() and copyinstr() in kernel/vm.c. ABI.md section 5, "Kernel copies".
"""

from collections.abc import Iterator
from typing import NamedTuple

from nexemu.errors import BadAddress
from nexemu.mem.vm import AddressSpace
from nexemu.riscv import PGMASK, PGSIZE, PTE_X, VA, Access, pte2pa


class Span(NamedTuple):
    """Bytes of one page: where they start in RAM (an offset into its bytes), and how many."""

    start: int
    length: int


def user_pages(space: AddressSpace, va: VA, count: int, access: Access) -> Iterator[Span]:
    """The ``count`` bytes at ``va``, page by page, each page made usable for ``access`` as it is reached.
    Raises BadAddress or OutOfMemory at the first page that cannot be; earlier ones were yielded."""
    base = space.frames.ram.base
    end = va + count
    while va < end:
        page_end = min(end, (va | PGMASK) + 1)
        pte = space.translate(va, access, by_kernel=True)
        if pte & PTE_X and access is Access.WRITE:
            space.code_changed()
        yield Span(pte2pa(pte) - base + (va & PGMASK), page_end - va)
        va = page_end


def user_pieces(space: AddressSpace, va: VA, count: int) -> Iterator[memoryview]:
    """The ``count`` bytes at ``va`` for reading, a piece a page, each to be used before the next is taken.
    Raises as :func:`user_pages`."""
    ram = space.frames.ram.bytes
    for span in user_pages(space, va, count, Access.READ):
        yield ram[span.start : span.start + span.length]


def copyin(space: AddressSpace, va: VA, count: int) -> bytes:
    """``count`` bytes of user memory from ``va``. Raises BadAddress or OutOfMemory."""
    return b"".join(user_pieces(space, va, count))


def copyout(space: AddressSpace, va: VA, data: bytes | memoryview) -> None:
    """Store ``data`` at ``va``. Raises BadAddress or OutOfMemory; the pages before the bad one are
    written by then."""
    ram = space.frames.ram.bytes
    done = 0
    for span in user_pages(space, va, len(data), Access.WRITE):
        ram[span.start : span.start + span.length] = data[done : done + span.length]
        done += span.length


def copyinstr(space: AddressSpace, va: VA, limit: int) -> bytes:
    """The string at ``va`` without its NUL, which must lie within ``limit`` bytes. Pages beyond the
    NUL are not touched. Raises BadAddress or OutOfMemory."""
    ram = space.frames.ram.bytes
    text = b""
    while len(text) < limit:
        at = va + len(text)
        count = min(limit - len(text), PGSIZE - (at & PGMASK))
        for span in user_pages(space, at, count, Access.READ):
            piece = bytes(ram[span.start : span.start + span.length])
            head, nul, _ = piece.partition(b"\0")
            text += head
            if nul:
                return text
    raise BadAddress(va, f"a string without a NUL in its first {limit} bytes")
