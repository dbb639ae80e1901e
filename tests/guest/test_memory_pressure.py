"""Whole machines with fewer frames than their programs need: everything works as if there were enough."""

import os
import signal
import subprocess
import sys

import pytest
from paging_support import ONLINE
from support import MIB, ROOT, finish

from nexemu.events import BadAccess, Exit, PageFault
from nexemu.evict import POLICIES, Setup
from nexemu.memlayout import KERNEL_PAGES
from nexemu.riscv import PGSIZE

RAM = 256
"""Frames that a machine here has. Of these the tests take some away, after init was loaded: a RAM as small
as they want cannot be made."""


class Pressed:
    """A booted machine that has ``frames`` free frames, whatever its RAM."""

    def __init__(self, machine, frames, policy="clock", swap=8 * MIB, **how):
        evictor = POLICIES[policy](Setup(frames))
        memory = (KERNEL_PAGES + RAM) * PGSIZE
        self.run = machine.build(memory=memory, swap=swap, evictor=evictor, audit=True, **how)
        self.kernel = self.run.kernel
        self.frames = frames
        self.init = machine.init

    def go(self, *argv):
        """Run to the end. Everything is given back then, frames and slots."""
        kernel = self.kernel
        kernel.boot(argv, self.init)
        while kernel.frames.free_frames > self.frames:
            kernel.machine.pipe_frames.take()
        finish(self.run, check=False)
        assert [proc.name for proc in kernel.procs] == ["init"], "processes are left"
        kernel.procs.reap(kernel.procs.init)
        kernel.audit()
        assert kernel.frames.used_frames == 1 + len(kernel.machine.pipe_frames.held), "frames are left"
        assert kernel.machine.pager.swap.used == 0, "slots are left"
        assert kernel.files.in_use == kernel.fs.in_use == 0
        return self.run


def pressed(machine, frames, command, **how):
    """Run ``command`` with ``frames`` free frames."""
    return Pressed(machine, frames, **how).go(b"init", b"--", *command.encode().split())


def swapped_in(run):
    return sum(event.kind == "swap" for event in run.events.of(PageFault))


# ---- the same output as with enough memory ------------------------------------------------------

PROGRAMS = {
    "mmaptest": 24,
    "files": 24,
    "pipes": 36,
    "threeowners": 32,
    "registers": 24,
    "interleave": 28,
    "kinship": 32,
    "twinone": 50,
    "reuse": 32,
    "textwrite": 32,
    "refill": 24,
    "breaks": 24,
    "cowcopyout": 24,
    "execall": 24,
    "kernelfill": 24,
    "pathacross": 24,
    "thrash 100 2": 24,
    "workingset 60 30 2": 40,
}
"""And how many free frames each gets: with fewer, some fork fails for want of page tables, which stay."""


@pytest.mark.parametrize("command", PROGRAMS)
def test_a_program_prints_the_same_under_pressure(machine, switches, command):
    expected = machine.run(*command.split(), check=False, **switches)
    run = pressed(machine, PROGRAMS[command], command, **switches)
    assert (run.text, run.status) == (expected.text, expected.status)
    if not switches["cow"]:  # with copy-on-write, the smallest of them need no more than they have
        assert swapped_in(run) > 0


def test_forktest_forks_all_its_children_under_pressure(machine, switches):
    run = pressed(machine, 110, "forktest", **switches)
    assert run.text == "forktest: 11 children, all reaped\n"


@pytest.mark.parametrize("frames", range(28, 36))  # a fork takes six, so any number is left over
def test_fork_leaves_frames_for_the_pages_of_those_who_run(machine, frames):
    """Page tables stay: with no limit they take all that one instruction needs, and it never ends."""
    run = pressed(machine, frames, "fullhouse")
    assert run.status == 0
    assert run.log == []


def test_a_pipeline_under_pressure(machine, switches):
    line = "echo one two > f; cat f f f | grep two | wc; ls | wc > g; cat g | cat | cat > h; wc h"
    expected = machine.shell(line, **switches)
    run = Pressed(machine, 50, **switches).go(b"init", b"-c", line.encode())
    assert (run.text, run.status) == (expected.text, expected.status)
    assert swapped_in(run) > 0


def test_two_programs_at_the_same_addresses_do_not_run_each_others_code(machine):
    """Text pages leave and come back into frames that held other code."""
    line = "thrash 20 3 & workingset 20 10 1 & hog 50 a & hog 60 b & wc /sh | cat; sleep 2"
    run = Pressed(machine, 48).go(b"init", b"-c", line.encode())
    assert run.text.count("verdict=RIGHT") == 2
    assert sorted(line for line in run.text.splitlines() if line.endswith("ends")) == ["a ends", "b ends"]
    assert [event.status for event in run.events.of(Exit) if event.name not in ("init", "sh")] == [0] * 7
    assert swapped_in(run) > 30


# ---- a working set of twice the frames ------------------------------------------------------------


@pytest.mark.parametrize("policy", ONLINE)
def test_a_working_set_of_twice_the_frames_under_every_policy(machine, policy):
    run = pressed(machine, 50, "thrash 100 3", policy=policy)
    assert run.text == "[thrash] pages=100 rounds=3 verdict=RIGHT\n"
    assert run.status == 0
    assert swapped_in(run) > 100


@pytest.mark.parametrize("policy", ONLINE)
def test_the_same_run_twice_swaps_the_same_pages(machine, policy):
    first, second = (pressed(machine, 50, "thrash 60 2", policy=policy) for _ in range(2))
    assert first.events.events == second.events.events


def test_with_enough_frames_nothing_is_swapped(machine):
    assert swapped_in(pressed(machine, 200, "thrash 100 3")) == 0


def test_the_fault_rate_has_a_knee_at_the_working_set(machine):
    faults = {
        frames: swapped_in(pressed(machine, frames, "workingset 200 60 3")) for frames in (60, 100, 140)
    }
    assert faults[60] > 10 * faults[100]
    assert faults[140] <= faults[100]


# ---- when nothing is left -------------------------------------------------------------------------


def test_out_of_frames_and_swap_kills_the_process_that_asked(machine, switches):
    line = "memhog 300; echo alive"
    run = Pressed(machine, 40, swap=40 * PGSIZE, **switches).go(b"init", b"-c", line.encode())
    assert run.text.endswith("alive\n")
    assert "all 300 pages" not in run.text
    killed = run.events.of(BadAccess)
    assert {event.name for event in killed} == {"memhog"}
    assert len(run.log) == len(killed)
    assert all("the swap area is full" in line for line in run.log)


def test_an_instruction_that_is_out_itself_is_not_made_up(machine):
    """The page of text left while the store that it makes had to wait for a frame that does not come."""
    run = Pressed(machine, 40, swap=40 * PGSIZE).go(b"init", b"-c", b"workingset 200 4 2")
    assert [line.split(": ", 2)[2] for line in run.log] == ["(swapped out): the swap area is full"]


# ---- from outside -----------------------------------------------------------------------------


@pytest.fixture
def nexemu(tmp_path, guests):
    """Start the command line, with an empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = os.environ | {
        "NEXEMU_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder),
    }

    def start(*words):
        words = [sys.executable, "-m", "nexemu", *words]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment)

    return start, folder


def test_kill_9_leaves_no_swap_file_behind(nexemu):
    start, folder = nexemu
    with start("run", "--frames", "80", "--swap", "8M", "-c", "thrash 100 1; thrash 100 100000") as process:
        assert b"RIGHT" in process.stdout.readline(), "it has swapped by now"
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=30) == -signal.SIGKILL
    assert list(folder.iterdir()) == []


def test_programs_of_xv6_under_pressure(nexemu):
    start, _ = nexemu
    line = "echo one two > f; cat f f f | grep two | wc; mkdir d; ls d | wc"
    enough, scarce = (["--abi", "xv6"], ["--abi", "xv6", "--frames", "64", "--swap", "8M", "--audit"])
    outputs = []
    for options in (enough, scarce):
        with start("run", *options, "-c", line) as process:
            outputs.append(process.communicate(timeout=60)[0])
            assert process.returncode == 0
    assert outputs[0] == outputs[1] != b""
