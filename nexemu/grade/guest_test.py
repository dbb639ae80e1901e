"""A whole machine that runs one guest program, and what is expected of it.

The other kind of test: not a scene on a testbed, but any program, to its end. The verdict comes from
its exit status, the page faults that were counted, the processes that were killed, and the frames
that came back; never from what is printed.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nexemu.events import BadAccess, Event, PageFault
from nexemu.grade.sandbox.process import printable
from nexemu.grade.testbed.expect import Lost, equal
from nexemu.grade.testbed.journal import Journal
from nexemu.grade.testbed.testbed import MakeHandler
from nexemu.kernel import Kernel, Options
from nexemu.personality import GUESTS, NEXOS, guests_of
from nexemu.sched.round_robin import RoundRobin
from nexemu.trap.keys import NoKeys

PROGRAMS: Final = GUESTS / NEXOS.name
MIB: Final = 1 << 20
INSTRUCTIONS: Final = 2_000_000
"""Virtual time: one an instruction, 1000 a system call. The largest of our own tests uses a tenth."""
TURN: Final = 10_000
FAULTS: Final = frozenset({"lazy", "cow-copy", "cow-reuse", "mmap"})
"""The kinds of page faults that can be counted: those of :class:`PageFault`, without swapping."""
LAST_LINES: Final = 5


@dataclass(frozen=True, slots=True)
class GuestTest:
    """``command`` is what init is asked to run: a program and its arguments. ``faults`` bounds the page
    faults of some of the FAULTS; ``kills`` is how many must die of a bad access;
    ``books``: all counts must be right in the end, and all frames come back."""

    command: tuple[str, ...]
    folder: Path = PROGRAMS
    status: int = 0
    kills: int = 0
    faults: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    memory: int = 16 * MIB
    instructions: int = INSTRUCTIONS
    books: bool = True

    @property
    def program(self) -> Path:
        """The file of the program."""
        return self.folder / self.command[0]

    @property
    def about(self) -> str:
        """The test in a sentence."""
        return f"A machine of {self.memory // MIB} MiB runs `{shlex.join(self.command)}` as it should."


def run_guest(test: GuestTest, make_handler: MakeHandler, journal: Journal) -> None:
    """Run the program to its end. Raises Lost where an expectation is not met."""
    seen: list[Event] = []
    screen = bytearray()
    handler = journal.watch(make_handler(seen.append))
    scheduler = Metered(test.instructions)
    options = Options(memory=test.memory, handler=handler)
    kernel = Kernel(options, scheduler, NoKeys(), screen.extend, journal.note, seen.append)
    programs = guests_of(NEXOS)
    for folder in dict.fromkeys((programs, test.folder)):
        kernel.load_files(folder)
    kernel.boot([b"init", b"--", *(word.encode() for word in test.command)], (programs / "init").read_bytes())
    free = kernel.frames.free_frames
    try:
        equal("the exit status", kernel.run(), test.status)
        _compare(test, seen)
        if test.books:
            kernel.audit()
            equal("frames that do not come back", free - kernel.frames.free_frames, 0)
    except Lost:
        for line in printable(bytes(screen)).splitlines()[-LAST_LINES:]:
            journal.note(f"the program prints: {line}")
        raise


def _compare(test: GuestTest, seen: Sequence[Event]) -> None:
    equal(
        "processes killed for a bad access", sum(isinstance(event, BadAccess) for event in seen), test.kills
    )
    faults = Counter(event.kind for event in seen if isinstance(event, PageFault))
    for kind, (least, most) in test.faults.items():
        if not least <= faults[kind] <= most:
            what = f"page faults of kind {kind}"
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise Lost(f"{what}: {wanted}", f"{what}: {faults[kind]}")


class Metered(RoundRobin):
    """Round robin that stops the machine when ``budget`` instructions are used, whoever used them."""

    def __init__(self, budget: int) -> None:
        super().__init__(TURN)
        self._left = budget

    def choose(self) -> int | None:
        """As round robin does, until the budget is used."""
        if self._left <= 0:
            raise Lost("the program ends", "it uses more instructions than it can need")
        return super().choose()

    def waiting(self) -> int:
        """Always somebody: instructions are counted even where nobody else could run."""
        return super().waiting() + 1

    def ran(self, pid: int, ticks: int) -> None:
        """Use some of the budget."""
        self._left -= ticks
