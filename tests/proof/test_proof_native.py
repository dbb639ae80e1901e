"""The same programs under Unicorn's own walker reach the same bytes and take the same faults.

Each guest runs twice, on our hart and on one whose translations Unicorn finds by itself in the same
tables. Everything that either machine did is compared: what was printed, every page fault, every
process that died and where, every status.
"""

from unittest.mock import patch

import pytest
from native import NativeHart
from support import MIB, ROOT, finish

from nexemu.events import BadAccess, PageFault
from nexemu.machine.hart import Hart
from nexemu.trap.dispatch import Dispatcher

LAB = ["lazytest", "mmaptest", "forktest", "crash", "lazydemo", "cowdemo"]
NEED_A_CLOCK = {"spin", "killspin", "interleave"}
"""Nothing is counted here, so these would run for ever."""
CASES = [path.stem for path in sorted((ROOT / "tests" / "guest" / "programs").glob("*.c"))]
PROGRAMS = [*LAB, *(name for name in CASES if name not in NEED_A_CLOCK)]
HARDWARE = 0xC0
"""A and D: when they are set differs, and nothing depends on it."""


def plain(event):
    """An atomic is a load for our TLB and a store for Unicorn's."""
    if isinstance(event, PageFault):
        return event._replace(
            pte_before=event.pte_before & ~HARDWARE, pte_after=event.pte_after & ~HARDWARE, access=""
        )
    return event


def observe(machine, command, hart, **how):
    with patch("nexemu.kernel.Hart", hart):
        run = machine.build(**how)
    run.kernel.boot([b"init", b"--", *command], machine.init)
    with patch.object(Dispatcher, "_budget", lambda *_: None):
        finish(run, check=False)
    return run


def compare(machine, tried, command, **how):
    ours, native = observe(machine, command, Hart, **how), observe(machine, command, NativeHart, **how)
    assert native.text == ours.text
    assert native.status == ours.status
    assert native.log == ours.log
    assert [plain(event) for event in native.events.events] == [plain(event) for event in ours.events.events]
    tried("page faults under Unicorn's own walker", native.kernel.hart.faults)
    return ours


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_the_same(machine, switches, tried, program):
    compare(machine, tried, [program.encode()], memory=32 * MIB, **switches)


def test_the_programs_do_fault_and_die(machine, tried):
    """So that there is something to compare."""
    run = compare(machine, tried, [b"lazytest"], memory=128 * MIB, lazy=True, cow=True)
    assert len(run.events.of(PageFault)) > 25
    assert len(run.events.of(BadAccess)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("program", ["cowtest", "lazytest"])
def test_a_large_program_runs_the_same(machine, switches, tried, program):
    compare(machine, tried, [program.encode()], memory=128 * MIB, **switches)
