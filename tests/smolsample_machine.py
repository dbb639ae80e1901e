"""A machine to run smolsample and smolbeam on, with an ear at every page fault."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from smolprobe_formula import Cache
from smolprobe_machine import GUESTS, RAM, TINY

from nexemu.events import Event, Exit, Fork, PageFault, Sbrk
from nexemu.kernel import Kernel, Options
from nexemu.model.geometry import Geometry
from nexemu.observe.recorder import Recorder
from nexemu.riscv import PGSIZE, pgroundup
from nexemu.sched import POLICIES
from nexemu.trap.keys import NoKeys

PROGRAM = 5
"""The pid of what init starts: two workers, init and its child come before."""


def cache_of(geometry: Geometry) -> Cache:
    position = geometry.kv_dim * 4
    return Cache(2 * geometry.layers, geometry.runtime_seq_len * position, position)


TINY_CACHE = cache_of(TINY)
"""32 positions fill a page, 64 an array."""


@dataclass(frozen=True)
class Layout:
    """The program's heap before it forks: where its weights, its workspace and its cache begin."""

    weights: int
    workspace: int
    cache: int
    end: int


@dataclass(frozen=True)
class Run:
    """What came of one command, and what happened meanwhile."""

    status: int
    output: str
    kernel: Kernel
    events: Recorder

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()

    def all_numbers(self, start: str) -> list[dict[str, int]]:
        """The name=number pairs of the lines that begin with this pattern after the program's name."""
        texts = [line for line in self.lines if re.match(rf"\[smol\w+\] {start}", line)]
        return [{name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", line)} for line in texts]

    def numbers(self, start: str) -> dict[str, int]:
        (found,) = self.all_numbers(start)
        return found

    @property
    def samples(self) -> list[dict[str, int]]:
        """What each sample did."""
        return self.all_numbers(r"sample=\d+ kv")

    def tokens(self, what: str) -> list[list[int]]:
        """The token ids of each ``sample`` or ``beam``."""
        found = re.findall(
            rf"^\[smol\w+\] {what}=\d+ (?:score=\S+ )?tokens=(\S+)$", self.output, re.MULTILINE
        )
        return [[int(token) for token in ids.split(",")] for ids in found]

    def layout(self, geometry: Geometry, offset: int, files_before: int = 0) -> Layout:
        """From what the program asked sbrk for: ids, the embedding, the norm, the table of layers, layers and
        the angles, up to a whole page; then the workspace; at last K and V, of one size."""
        grown = [event for event in self.events.of(Sbrk) if event.pid == PROGRAM and event.new > event.old]
        angles = grown[files_before + 4 + geometry.layers]
        assert angles.new - angles.old == geometry.runtime_seq_len * geometry.head_dim * 4
        array = cache_of(geometry).array_bytes * geometry.layers
        key = next(a for a, b in pairwise(grown) if a.new - a.old == b.new - b.old == array)
        return Layout(grown[0].old, pgroundup(angles.new), key.old - offset, key.new + array)

    def forked(self) -> list[int]:
        """The pids of the program's children, but for those that only tried whether there was room."""
        events = self.events.events
        tries = {event.pid for event in events if isinstance(event, Exit)} & self._before_weights(events)
        return [e.child for e in self.events.of(Fork) if e.parent == PROGRAM and e.child not in tries]

    def _before_weights(self, events: list[Event]) -> set[int]:
        """Who had ended when the program grew by more than a few pages for the first time."""
        for at, event in enumerate(events):
            if isinstance(event, Sbrk) and event.pid == PROGRAM and event.new - event.old > 2 * PGSIZE:
                return {event.pid for event in events[:at] if isinstance(event, Exit)}
        return set()

    def faults(self, kind: str, start: int, end: int, pid: int | None = None) -> list[int]:
        """The pages from ``start`` on, counted from there, in which such faults happened."""
        return [
            (event.va - start) // PGSIZE
            for event in self.events.of(PageFault)
            if event.kind == kind and start <= event.va < end and pid in {None, event.pid}
        ]


def run(
    program: str,
    *options: str,
    image: Path,
    lazy: bool = True,
    cow: bool = True,
    memory: int = RAM,
    folders: Sequence[Path] = (),
) -> Run:
    """Run ``program`` with ``options`` where the files of ``image`` are."""
    output, events = bytearray(), Recorder()
    options_of_kernel = Options(lazy=lazy, cow=cow, memory=memory)
    kernel = Kernel(
        options_of_kernel, POLICIES["round-robin"](), NoKeys(), output.extend, lambda _: None, events
    )
    for folder in (GUESTS, image, *folders):
        kernel.load_files(folder)
    argv = [b"init", b"--", program.encode(), *map(str.encode, options)]
    kernel.boot(argv, (GUESTS / "init").read_bytes())
    free = kernel.frames.free_frames
    status = kernel.run()
    kernel.audit()
    assert [proc.name for proc in kernel.procs] == ["init"], "processes are left"
    assert kernel.frames.free_frames == free, "frames are left"
    return Run(status, output.decode(errors="replace"), kernel, events)
