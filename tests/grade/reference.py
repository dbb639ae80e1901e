"""The reference handler: what a student who has done everything would hand in.

The mutants are made from its text, so that its lines are spelled out where a fault is to be put in.
"""

from nexemu.grade.kit import (
    FETCH,
    PGSIZE,
    PTE_COW,
    PTE_FLAGS,
    PTE_R,
    PTE_U,
    PTE_V,
    PTE_W,
    WRITE,
    BadAddress,
    BadCall,
    OutOfMemory,
    pa2pte,
    pgrounddown,
    pgroundup,
    pte2pa,
)


def sbrk(space, n):
    old, new = space.size, space.size + n
    if not 0 <= new <= space.limit:
        raise BadCall(f"the break cannot be {new:#x}")
    if n < 0:
        first, end = pgroundup(new), pgroundup(old)
        space.uvmunmap(first, (end - first) // PGSIZE, do_free=True)
    space.size = new
    return old


def page_fault(space, va, access):
    pte = space.walk(va)
    if is_cow(pte) and access == WRITE:
        break_cow(space, va, pte)
    elif not pte & PTE_V and va < space.size and access != FETCH:
        make_page(space, va)
    else:
        raise BadAddress(va, "nothing that the program may use in this way")


def prepare_copyin(space, va):
    pte = space.walk(va)
    if pte & PTE_V or va >= space.size:
        raise BadAddress(va, "nothing that the program may read")
    make_page(space, va)


def prepare_copyout(space, va):
    pte = space.walk(va)
    if is_cow(pte):
        break_cow(space, va, pte)
        space.sfence_vma()
    elif not pte & PTE_V and va < space.size:
        make_page(space, va)
    else:
        raise BadAddress(va, "nothing that the program may write")


def is_cow(pte):
    wanted = PTE_V | PTE_U | PTE_COW
    return pte & wanted == wanted


def make_page(space, va):
    pa = space.kalloc()
    space.memset(pa, 0)
    try:
        space.mappages(pgrounddown(va), PGSIZE, pa, PTE_R | PTE_W | PTE_U)
    except OutOfMemory:
        space.kfree(pa)
        raise


def break_cow(space, va, pte):
    flags = pte & PTE_FLAGS & ~PTE_COW | PTE_W
    old = pte2pa(pte)
    if space.refcount(old) == 1:
        space.setpte(va, pa2pte(old) | flags)
        return
    new = space.kalloc()
    space.memmove(new, old)
    space.setpte(va, pa2pte(new) | flags)
    space.kfree(old)


def fork_copy(parent, child):
    child.size = parent.size
    for va, before in parent.pages(0, pgroundup(parent.size)):
        pte = before
        if pte & PTE_W:
            pte = pte & ~PTE_W | PTE_COW
            parent.setpte(va, pte)
        child.setpte(va, pte)
        parent.incref(pte2pa(pte))
    parent.sfence_vma()


def release(space):
    space.uvmunmap(0, pgroundup(space.size) // PGSIZE, do_free=True)
