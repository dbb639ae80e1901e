"""My memory handler: lazy allocation and copy-on-write fork.

What stands here works in the naive way: ``sbrk`` allocates every page at once, ``fork`` copies every
page at once, and so no page fault can be anything but a mistake of the program. The exercise is in
README.md. Each docstring is the contract of its function, which the tests hold it to.

``space`` is the memory of one process. What it can do is all that a handler can do:

    space.size                    the break (you may set it)
    space.limit                   the highest break allowed
    space.walk(va)                the PTE of the page that holds va, 0 where there is none
    space.setpte(va, pte)         store a PTE
    space.pages(start, end)       [(va, pte), ...] of the valid pages; holes cost nothing
    space.mappages(va, size, pa, flags)
    space.uvmunmap(va, npages, do_free)    skips holes
    space.sfence_vma()            the hart forgets what it knows of this page table
    space.kalloc()                a frame full of junk; its count is 1
    space.kfree(pa)               one holder fewer; the last one frees the frame
    space.incref(pa)              one holder more
    space.refcount(pa)
    space.memset(pa, byte)        fill a frame that this call has allocated
    space.memmove(pa, source)     copy a frame to one that this call has allocated

A PTE is a number: the address of a frame, ``pte2pa(pte)``, and flags, ``pte & PTE_FLAGS``. ``pa2pte(pa)``
is the other way round, and ``flags_text(pte)`` is for print(). The flags are

    PTE_V                         the page is mapped
    PTE_R, PTE_W, PTE_X           loads, stores, instructions are allowed
    PTE_U                         to the program; without it, to the kernel only
    PTE_COW                       the page is copy-on-write; the hart does not know it, you do
    PTE_A, PTE_D                  accessed, dirty: the kernel sets them

All of these names, and ``pgrounddown``, come from ``nexemu.grade.kit``, as those below do.
"""

from nexemu.grade.kit import (
    PGSIZE,
    PTE_FLAGS,
    PTE_R,
    PTE_U,
    PTE_V,
    PTE_W,
    VA,
    Access,
    BadAddress,
    BadCall,
    OutOfMemory,
    Space,
    panic,
    pgroundup,
    pte2pa,
)

# ---- part 1: lazy allocation ------------------------------------------------------------------


def sbrk(space: Space, n: int) -> VA:
    """Move the break by ``n`` bytes and return the old break.

    Growing is a promise: it maps nothing and takes no frame, so it can exceed memory. Shrinking gives
    back at once every page of which no byte is below the break any more, and no other. A break below
    0 or above ``space.limit`` is refused with BadCall; then nothing has changed.
    """
    old, new = space.size, space.size + n
    if not 0 <= new <= space.limit:
        raise BadCall(f"the break cannot be {new:#x}")
    if n > 0:
        _grow(space, pgroundup(old), new)
    else:
        space.uvmunmap(pgroundup(new), (pgroundup(old) - pgroundup(new)) // PGSIZE, do_free=True)
    space.size = new
    return old


def _grow(space: Space, start: VA, end: VA) -> None:
    """Map a page of zeros at every page from ``start`` up to ``end``. The naive way."""
    for va in range(start, end, PGSIZE):
        try:
            pa = space.kalloc()
        except OutOfMemory:
            space.uvmunmap(start, (va - start) // PGSIZE, do_free=True)
            raise
        space.memset(pa, 0)
        try:
            space.mappages(va, PGSIZE, pa, PTE_R | PTE_W | PTE_U)
        except OutOfMemory:
            space.kfree(pa)
            space.uvmunmap(start, (va - start) // PGSIZE, do_free=True)
            raise


def page_fault(space: Space, va: VA, access: Access) -> None:
    """The program has touched the page that holds ``va``, and its PTE forbids that. Make the PTE allow it,
    and return; the instruction is executed again. ``access`` is READ, WRITE or FETCH. (The hart may round
    ``va`` down to the page's first byte.)

    - Below the break, where nothing is mapped: a READ or WRITE makes a page of zeros appear, readable
      and writable, not executable. Only this one page.
    - A WRITE to a copy-on-write page (part 2): the process gets a frame of its own with the same bytes,
      and W. Whoever is the last holder keeps the frame; nothing is copied then. The page's other
      rights stay as they are, and nobody else may notice.
    - Anything else is the program's mistake: BadAddress, and the process is killed. That goes for
      every page that is mapped and forbids the access, such as text and the guard page, for every
      FETCH, and for every address at or above the break, be it as large as 2^64 - 1. (Where the break
      lies within a page, the rest of that page may be treated either way.)

    OutOfMemory kills the process as well. In both cases nothing has changed, and no frame is lost.
    """
    raise BadAddress(va, "no page fault is handled yet")


def prepare_copyin(space: Space, va: VA) -> None:
    """A system call is about to read the page that holds ``va`` for the program, and its PTE forbids a
    load. Make it allow one, as ``page_fault`` does for a READ, or raise BadAddress: the call returns -1.
    """
    raise BadAddress(va, "the program cannot read here")


def prepare_copyout(space: Space, va: VA) -> None:
    """A system call is about to write to the page that holds ``va`` for the program, and its PTE forbids a
    store. Make it allow one, as ``page_fault`` does for a WRITE, or raise BadAddress: the call returns -1.

    It is asked for each page of a copy. The hart may still know the page as it was: where a PTE that was
    valid changes, ``space.sfence_vma()`` makes it forget. (After ``page_fault`` it forgets that page by
    itself.)
    """
    raise BadAddress(va, "the program cannot write here")


# ---- part 2: copy-on-write fork ---------------------------------------------------------------


def fork_copy(parent: Space, child: Space) -> None:
    """Give the fresh ``child`` the parent's memory: the same break, the same pages.

    No page is copied. A page that is writable is shared: in both page tables it loses W and gains the
    COW bit, so that the first store faults. A page that is not writable is shared as it is; it must
    never become writable. Each shared frame has one holder more. Holes, pages that were promised and
    never touched, stay holes in both, and the promise is the child's too. Where the parent's PTEs lose a
    right, the hart must forget them.

    OutOfMemory may end it on the way: then the kernel calls ``release(child)``, and that must leave
    every frame's count as it was. The parent keeps its pages; some may be marked COW.
    """
    child.size = parent.size
    for va in range(0, pgroundup(parent.size), PGSIZE):
        pte = parent.walk(va)
        if not pte & PTE_V:
            panic(f"fork_copy: the page at {va:#x} is not mapped")
        pa = child.kalloc()
        child.memmove(pa, pte2pa(pte))
        try:
            child.mappages(va, PGSIZE, pa, pte & PTE_FLAGS)
        except OutOfMemory:
            child.kfree(pa)
            raise


def release(space: Space) -> None:
    """The process is gone: give up its hold on every page below the break. A frame that others hold
    stays theirs. The space may be a child that ``fork_copy`` could not finish."""
    space.uvmunmap(0, pgroundup(space.size) // PGSIZE, do_free=True)
