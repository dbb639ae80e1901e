"""Probes of page faults: a loop stores to each of many pages once, and each store misses the TLB.

What differs is what the kernel finds behind the miss. The floor is the same loop under bare Unicorn
with a fill hook that has nothing to find out. Frames have been used before on both sides, in the
round that warms up: the host's own page faults would dwarf the guest's.
"""

from typing import Final

from nexemu.bench import loops
from nexemu.bench.assembler import A0, A1
from nexemu.bench.probe import Floor, Probe, Sample, Setting
from nexemu.bench.rig import HEAP, BareRig, Rig
from nexemu.kernel import Options
from nexemu.proc.proc import Proc

PAGES: Final = 2048
"""More would measure the host's caches."""
QUICK_PAGES: Final = 64
RAM: Final = 32 << 20


class Faults:
    """A process with a heap, and its floor. Every method gives the seconds that one page takes."""

    def __init__(self, setting: Setting) -> None:
        self._pages = QUICK_PAGES if setting.quick else PAGES
        self._bare = BareRig(loops.touch(), RAM, empty_fill=True)
        self._rig = Rig(loops.touch(), Options(memory=RAM))
        self._rig.grow(self._pages)

    def empty_fill(self) -> float:
        """A miss whose hook does nothing."""
        self._bare.machine.flush_tlb()
        return self._bare.seconds({A0: self._bare.data, A1: self._pages}) / self._pages

    def refill(self) -> float:
        """The page is there; the TLB has forgotten it."""
        self._touch(self._rig.proc)
        self._rig.proc.space.epoch += 1
        return self._touch(self._rig.proc)

    def lazy(self) -> float:
        """There is no page yet."""
        self._rig.grow(-self._pages)
        self._rig.grow(self._pages)
        return self._touch(self._rig.proc)

    def cow_copy(self) -> float:
        """A child touches what it shares with its parent, and gets a copy."""
        self._touch(self._rig.proc)
        child = self._rig.fork()
        took = self._touch(child)
        self._rig.end(child)
        return took

    def cow_reuse(self) -> float:
        """The parent touches what it shared with a child that has gone, and keeps it."""
        self._touch(self._rig.proc)
        self._rig.end(self._rig.fork())
        return self._touch(self._rig.proc)

    def _touch(self, proc: Proc) -> float:
        return self._rig.seconds(proc, {A0: HEAP, A1: self._pages}) / self._pages


def _probe(title: str, sample: Sample, faults: Faults, at_most: float | None = None) -> Probe:
    return Probe(title, sample, (Floor("a fill with an empty hook", faults.empty_fill, at_most),))


def refill(setting: Setting) -> Probe:
    """A miss on a page that is there."""
    faults = Faults(setting)
    return _probe("TLB refill", faults.refill, faults, at_most=2.0)


def lazy(setting: Setting) -> Probe:
    """A page of zeros comes into being."""
    faults = Faults(setting)
    return _probe("lazy fault", faults.lazy, faults, at_most=2.5)


def cow_copy(setting: Setting) -> Probe:
    """A shared page is copied for one of those who share it."""
    faults = Faults(setting)
    return _probe("COW fault, copied", faults.cow_copy, faults, at_most=3.0)


def cow_reuse(setting: Setting) -> Probe:
    """A shared page becomes its last owner's."""
    faults = Faults(setting)
    return _probe("COW fault, last owner", faults.cow_reuse, faults)
