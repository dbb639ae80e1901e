"""Memory with fewer frames than its processes have pages: for tests of the pager, without a CPU."""

from support import Memory

from nexemu.evict import POLICIES, Setup
from nexemu.mem.pager import Pager
from nexemu.mem.swap import SwapArea
from nexemu.mem.usercopy import copyin, copyout
from nexemu.policy import Evictor
from nexemu.riscv import PGSIZE, PTE_SWAP, PTE_V, Access, pte2pa

ONLINE = [name for name, policy in POLICIES.items() if policy.online]


class CountingSwap(SwapArea):
    """``stores`` and ``loads``: how many pages went out and came in."""

    def __init__(self, size):
        super().__init__(size)
        self.stores = self.loads = 0

    def store(self, page):
        slot = super().store(page)
        self.stores += 1
        return slot

    def read(self, slot):
        self.loads += 1
        return super().read(slot)


class Choice(Evictor):
    """A policy for tests: the pages in ``order`` leave, in that order, then the others as they came."""

    def __init__(self):
        self.order = []
        self.pages = []
        self.asked = []

    def touch(self, page):
        raise AssertionError("a live memory tells of no uses")

    def admit(self, page):
        assert page not in self.pages, "admitted twice"
        self.pages.append(page)

    def remove(self, page):
        self.pages.remove(page)

    def victim(self, incoming, pages):
        self.asked.append(incoming)
        wanted = [page for page in self.order if page in self.pages] + self.pages
        victim = next((page for page in wanted if not pages.pinned(page)), None)
        if victim is not None:
            self.pages.remove(victim)
        return victim


class PagedMemory(Memory):
    """``pages`` frames and ``slots`` slots; ``policy`` is an evictor, or the name of one."""

    def __init__(self, pages, slots=1000, policy="fifo", **how):
        super().__init__(pages=pages, **how)
        self.swap = CountingSwap(slots * PGSIZE)
        self.evictor = POLICIES[policy](Setup(pages)) if isinstance(policy, str) else policy
        self.flushes = 0
        self.next_pid = 3
        self.unborn = []  # a child that fork is making
        self.pager = Pager(
            self.frames, self.swap, self.evictor, lambda: [*self.spaces, *self.unborn], self._shootdown
        )
        self.frames.pager = self.pager

    def _shootdown(self):
        self.flushes += 1

    def fork(self, parent):
        child = type(parent).create(self.frames, self.paging, self.trampoline)
        child.pid = self.next_pid
        self.unborn = [child]
        try:
            self.paging.handler.fork_copy(parent, child)
        except Exception:
            child.free()
            raise
        finally:
            self.unborn = []
        return self.adopt(child)

    def adopt(self, space):
        """Pids are never given twice, as in the kernel."""
        self.spaces.append(space)
        space.pid = self.next_pid
        self.next_pid += 1
        return space

    def audit(self):
        super().audit()
        leaves = [leaf for space in self.spaces for leaf in space.table.leaves(wanted=PTE_SWAP | PTE_V)]
        slots = [leaf.pte >> 10 for leaf in leaves if not leaf.pte & PTE_V]
        self.swap.audit([*slots, *self.pager.slots_remembered()])

    def close(self):
        super().close()
        assert self.swap.used == 0, "slots were lost"


def fill(space, pages, first=0, word=1):
    """Store a different content on each of ``pages`` pages from page ``first``."""
    for number in range(first, first + pages):
        copyout(space, number * PGSIZE, content(number, word))


def content(number, word=1):
    """What :func:`fill` has stored."""
    return number.to_bytes(4, "little") * 1000 + word.to_bytes(4, "little") * 24


def holds(space, pages, first=0, word=1):
    """Whether each page holds what :func:`fill` has stored."""
    numbers = range(first, first + pages)
    return all(copyin(space, number * PGSIZE, PGSIZE) == content(number, word) for number in numbers)


def is_out(space, number):
    """Whether the page is in the swap area."""
    pte = space.table.pte(number * PGSIZE)
    return bool(pte & PTE_SWAP) and not pte & PTE_V


def is_in(space, number):
    """Whether the page is in memory."""
    return bool(space.table.pte(number * PGSIZE) & PTE_V)


def user_store(space, va, byte):
    """As the hart stores."""
    pte = space.translate(va, Access.WRITE)
    at = pte2pa(pte) + va % PGSIZE
    space.frames.ram.write(at, bytes([byte]))


def user_load(space, va):
    """As the hart loads."""
    pte = space.translate(va, Access.READ)
    return space.frames.ram.read(pte2pa(pte) + va % PGSIZE, 1)[0]
