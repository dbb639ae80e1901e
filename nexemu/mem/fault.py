"""THE page-fault handler: every page that is not there yet comes into being here.

The hart's accesses and the kernel's own copies (``copyin``, ``copyout``) both arrive at
:func:`vmfault`, so that a lazy or copy-on-write page behaves the same whoever touches it.

xv6: vmfault() in kernel/vm.c, and the COW lab. ABI.md section 5.
"""

from typing import Final

from nexemu.errors import BadAddress
from nexemu.events import PageFault
from nexemu.mem.area import Area
from nexemu.mem.explain import why_bad
from nexemu.mem.vm import AddressSpace
from nexemu.riscv import (
    FETCH,
    MAXVA,
    PGMASK,
    PTE,
    PTE_A,
    PTE_COW,
    PTE_D,
    PTE_FLAGS,
    PTE_R,
    PTE_SWAP,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    READ,
    VA,
    WRITE,
    Access,
    pa2pte,
    pte2pa,
)

COW_PAGE = PTE_V | PTE_U | PTE_COW
COW_KEEPS = PTE_FLAGS & ~PTE_COW
OWN_PAGE = PTE_W | PTE_A | PTE_D
NEW_PAGE: Final = {
    READ: PTE_V | PTE_R | PTE_W | PTE_U | PTE_A,
    WRITE: PTE_V | PTE_R | PTE_W | PTE_U | PTE_A | PTE_D,
}
"""A lazy page is readable and writable, never executable; A and D as the access at hand sets them."""


def prepare_copy(space: AddressSpace, va: VA, access: Access) -> PTE:
    """As :func:`vmfault`, for a system call that is about to touch the page. Mmap areas are not filled
    for it: NexOS's copyin and copyout know nothing of them."""
    return vmfault(space, va, access, by_kernel=True)


def vmfault(space: AddressSpace, va: VA, access: Access, by_kernel: bool = False) -> PTE:
    """Make the page at ``va`` usable for ``access`` and return its PTE.

    In this order: a store to a copy-on-write page gets a private frame; any other valid PTE
    means that the access is forbidden; a page that was swapped out comes back; below the break a
    page of zeros appears; in an mmap area its page does. Raises BadAddress for everything else,
    OutOfMemory when no frame is left; no mapping has changed then.
    """
    index = space.table.lookup(va)
    before = space.table.words[index] if index >= 0 else 0
    if before & COW_PAGE == COW_PAGE and access is WRITE:
        after = _break_cow(space, index, before, by_kernel)
    elif before & PTE_V or va >= MAXVA:
        raise BadAddress(va, why_bad(space, va, access))
    elif before and space.frames.pager is not None:
        after = _swap_in(space, va, access, index, by_kernel)
    elif space.paging.lazy and va & ~PGMASK < space.size and access is not FETCH:
        if index < 0:
            index = space.table.walk(va)
        after = space.table.words[index] = pa2pte(space.frames.kalloc_zeroed()) | NEW_PAGE[access]
    else:
        area = space.area_at(va)
        if area is None or by_kernel or not area.allows(access):
            raise BadAddress(va, why_bad(space, va, access))
        after = _map_from_area(space, va, access, area)
    if space.frames.pager is not None and not before & PTE_SWAP:
        space.frames.pager.mapped(space, va, pte2pa(after))
    if space.paging.emit is not None:
        _report(space, va, access, by_kernel, before, after)
    return after


def _break_cow(space: AddressSpace, index: int, before: PTE, by_kernel: bool) -> PTE:
    """Copy-on-write: the last owner takes W back in place, any other gets a copy of its own."""
    frame = space.frames.unshare(pte2pa(before))
    after = space.table.words[index] = pa2pte(frame) | before & COW_KEEPS | OWN_PAGE
    if space.frames.pager is not None:
        space.frames.pager.changed(frame)
    if before & PTE_X:
        space.code_changed()
    if by_kernel:
        space.epoch += 1  # the hart replaces the entry that it faulted on itself, no other
    return after


def _swap_in(space: AddressSpace, va: VA, access: Access, index: int, by_kernel: bool) -> PTE:
    """The page comes back with the rights that it had, which the access must respect like any other."""
    assert space.frames.pager is not None
    pte = space.frames.pager.bring_in(space, va, index)
    if pte & access != access:
        return vmfault(space, va, access, by_kernel)
    if access is WRITE:
        pte |= PTE_D
    space.table.words[index] = pte
    return pte


def _map_from_area(space: AddressSpace, va: VA, access: Access, area: Area) -> PTE:
    """The page of an mmap area: zeros, then the file's bytes over them."""
    index = space.table.walk(va)
    frame = space.frames.kalloc_zeroed()
    space.frames.ram.write(frame, area.content(va & ~PGMASK))
    pte = pa2pte(frame) | area.flags | PTE_V | PTE_A
    if access is WRITE:
        pte |= PTE_D
    space.table.words[index] = pte
    return pte


def _report(space: AddressSpace, va: VA, access: Access, by_kernel: bool, before: PTE, after: PTE) -> None:
    assert space.paging.emit is not None
    if before & PTE_SWAP and not before & PTE_V:
        kind = "swap"
    elif before & PTE_V:
        kind = "cow-reuse" if pte2pa(before) == pte2pa(after) else "cow-copy"
    else:
        kind = "lazy" if va & ~PGMASK < space.size else "mmap"
    who = "kernel" if by_kernel else "user"
    space.paging.emit(PageFault(space.pid, kind, va & ~PGMASK, access.name.lower(), before, after, who))
