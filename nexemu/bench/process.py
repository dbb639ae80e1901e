"""Probes of fork and exec, as the process table and the gate do them."""

from typing import Final

from nexemu.bench import loops
from nexemu.bench.probe import Floor, Probe, Sample, Setting, cpu_seconds
from nexemu.bench.rig import Rig, guest_folder
from nexemu.kernel import Options
from nexemu.proc.proc import Proc
from nexemu.riscv import PGSIZE
from nexemu.trap.sysexec import exec_file

PAGES: Final = 16_384
QUICK_PAGES: Final = 256
RAM: Final = 160 << 20
EXECS: Final = 20


def fork(setting: Setting) -> Probe:
    """A fork where pages are shared until they are written."""
    pages = QUICK_PAGES if setting.quick else PAGES
    return Probe(f"fork, {pages:,} pages, COW", _forks(pages, cow=True), at_most=0.020)


def fork_copy(setting: Setting) -> Probe:
    """A fork where every page is copied at once."""
    pages = QUICK_PAGES if setting.quick else PAGES
    source, target = bytearray(pages * PGSIZE), bytearray(pages * PGSIZE)

    def copy() -> None:
        target[:] = source

    floor = Floor("copying as many bytes", lambda: cpu_seconds(copy))
    return Probe(f"fork, {pages:,} pages, copied", _forks(pages, cow=False), (floor,))


def _forks(pages: int, cow: bool) -> Sample:
    """Of a process whose heap has ``pages``, all resident."""
    rig = Rig(loops.touch(), Options(lazy=False, cow=cow, memory=RAM))
    rig.grow(pages)

    def sample() -> float:
        children: list[Proc] = []
        took = cpu_seconds(lambda: children.append(rig.fork()))
        for child in children:
            rig.end(child)
        return took

    return sample


def exec_(setting: Setting) -> Probe:
    """An exec of a small program: a new image is built, the old one is given back."""
    times = 1 if setting.quick else EXECS
    rig = Rig(loops.touch(), Options(memory=RAM))
    rig.kernel.load_files(guest_folder())

    def execs() -> None:
        for _ in range(times):
            exec_file(rig.kernel.machine, rig.proc, b"/echo", [b"echo", b"hello"])

    return Probe("exec of echo", lambda: cpu_seconds(execs) / times)
