"""Thrashing for real: a guest whose working set moves, on the kernel's own pager, by frames."""

from collections.abc import Sequence
from typing import Final

from nexemu.errors import OperatorError
from nexemu.events import Event, PageFault
from nexemu.evict import POLICIES, Setup
from nexemu.kernel import Kernel, Options
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.paging.thrash import ACCESS_NS, SSD_NS, effective_access_ns
from nexemu.lab.report import Cell, Check, Figure, Report, Table
from nexemu.memlayout import KERNEL_PAGES
from nexemu.personality import NEXOS, guests_of
from nexemu.riscv import PGSIZE
from nexemu.sched.round_robin import RoundRobin
from nexemu.trap.keys import NoKeys

PAGES, SET, PHASES = 160, 80, 2
ACCESSES: Final = PAGES + PHASES * SET * 200
"""How often `workingset` uses one of its pages then."""

FRAMES: Final = (64, 72, 80, 88, 96, 112, 128, 192)
"""Of the whole machine, a dozen of which hold page tables and the program's text and stack."""

SWAP_BYTES: Final = 4 << 20
ONLINE: Final = ("fifo", "clock")


def faults_of(policy: str, frames: int, command: Sequence[str], seed: int) -> int:
    """How many page faults a machine of ``frames`` has that runs the guest ``command`` alone. Raises
    OperatorError without compiled guests."""
    program = guests_of(NEXOS, command[0]) / command[0]
    faults = 0

    def count(event: Event) -> None:
        nonlocal faults
        faults += isinstance(event, PageFault)

    evictor = POLICIES[policy](Setup(frames, seed=seed))
    options = Options(memory=(KERNEL_PAGES + frames) * PGSIZE, swap=SWAP_BYTES, evictor=evictor)
    said: list[str] = []
    kernel = Kernel(options, RoundRobin(), NoKeys(), lambda _: None, said.append, count)
    kernel.boot([word.encode() for word in command], program.read_bytes())
    if kernel.run() != 0:
        raise OperatorError(f"{command[0]} failed with {frames} frames: {'; '.join(said)}")
    return faults


def live(trial: Trial) -> Report:
    """The guest at each number of frames, under each policy."""
    command = ("workingset", str(PAGES), str(SET), str(PHASES))
    faults = {
        policy: [faults_of(policy, frames, command, trial.seed) for frames in FRAMES]
        for policy in trial.steps("running machines", ONLINE)
    }
    rates = {policy: [count / ACCESSES for count in counts] for policy, counts in faults.items()}
    times = {policy: [effective_access_ns(rate, SSD_NS) for rate in rates[policy]] for policy in rates}
    percent = {policy: [100 * rate for rate in rates[policy]] for policy in rates}
    micros = {policy: [ns / 1000 for ns in times[policy]] for policy in times}
    columns = ("policy", *(str(frames) for frames in FRAMES))
    rows: list[tuple[Cell, ...]] = [(policy, *counts) for policy, counts in faults.items()]
    slow: list[tuple[Cell, ...]] = [(policy, *(ns / ACCESS_NS for ns in times[policy])) for policy in times]
    clock = faults["clock"]
    return Report(
        f"The knee of the trace, on a real program: {SET} pages are used at a time, and a few more hold "
        "its text, stack and page tables. Below that almost any frame taken away costs a fault again and "
        "again; above it only the changes of phase do.",
        [
            Table(f"Page faults by frames: {' '.join(command)}", columns, rows),
            Table("Slowdown, 100 ns an access, 100 us a fault", columns, slow),
        ],
        [
            Check(
                f"CLOCK: faults with {FRAMES[0]} frames over those with {FRAMES[3]}",
                "thrashing",
                clock[0] / clock[3],
            ),
            Check(f"CLOCK: faults with {FRAMES[-1]} frames, one a page", "", clock[-1]),
        ],
        [
            Figure(f"Page faults, {SET} pages in use", "frames", "faults, % of accesses", FRAMES, percent),
            Figure("Effective access time", "frames", "us an access", FRAMES, micros, log_y=True),
        ],
    )


LIVE: Final = Experiment("Thrashing on the real kernel", "code 03, demo 5", live)
