"""Programs that want too much, on a small machine: it goes on, refuses, kills, and gets everything back."""

import pytest
from support import MIB, Machine

from nexemu.events import Exit, Fork, Reap
from nexemu.fs.console import Key
from nexemu.memlayout import KERNEL_PAGES
from nexemu.riscv import PGSIZE

SLOTS = 16 - 2  # NPROC, of which two are the workers'


@pytest.fixture(scope="session")
def bombs(guests, compiled):
    return Machine((guests / "init").read_bytes(), [guests, compiled])


def frames(count):
    return (KERNEL_PAGES + count) * PGSIZE


@pytest.mark.parametrize("held", [None, 40], ids=["slots run out", "frames run out"])
def test_a_fork_bomb(bombs, switches, held):
    """The process table is full, or the memory; then all end, init reaps them, and nothing is left."""
    words = [] if held is None else [str(held)]
    memory = frames(4096 if held is None else 300)
    run = bombs.run("forkbomb", *words, memory=memory, audit=held is None, **switches)
    assert run.status == 0
    assert run.values() == {"waited": 1, "status": 0, "unlinked": 0}
    forks, reaps = run.events.of(Fork), run.events.of(Reap)
    assert len(reaps) == len(forks)
    if held is None:
        assert len(forks) >= SLOTS - 1


def test_a_fork_bomb_that_never_ends_is_ended_by_ctrl_c(bombs, switches):
    """All of its processes go at once, so that none is left to go on; the shell reads its next line."""

    class Terminal:
        on_demand = False
        polls = 0

        def poll(self):
            self.polls += 1
            return bytes([Key.INTERRUPT]) + b"echo alive\nexit 3\n" if self.polls == 400 else b""

        def wait(self):
            return None

    keyboard = Terminal()
    run = bombs.build(keyboard=keyboard, memory=frames(2048), **switches)
    run.kernel.boot([], bombs.init)
    for key in b"forever\n":
        run.kernel.console.interrupt(key)
    assert run.kernel.run() == 3
    assert "alive\n" in run.text
    assert len(run.events.of(Fork)) >= SLOTS - 2
    run.kernel.audit()
    assert len(list(run.kernel.procs)) == 1


def test_memory_bombs(bombs, switches):
    """Four at once. Lazy: each dies of its first page too many; eager: each is refused. The parent keeps
    every byte, has all frames back, and can grow."""
    run = bombs.run("membomb", memory=frames(1000), audit=False, **switches)
    assert run.values() == {"ended": 4, "kept": 1, "lost": 0, "more": 1}
    statuses = [event.status for event in run.events.of(Exit) if event.name == "membomb"]
    assert statuses == [-1 if switches["lazy"] else 2] * 4 + [0]


def test_a_pipe_that_nobody_reads(bombs, switches):
    """The writer waits; it is told when the last reader goes; it can be killed."""
    run = bombs.run("fullpipe", audit=True, **switches)
    assert run.values() == {"waited": 1, "status": -1, "killed": 0}
    assert [line for line in run.text.splitlines() if line.startswith("status")] == ["status=5", "status=-1"]


def test_a_pipe_that_nobody_can_read_any_more_but_the_writer_itself(bombs, switches):
    """Everybody waits for ever, which ends the machine and is said."""
    run = bombs.run("fullpipe", "x", check=False, **switches)
    assert run.status == -1
    assert run.log == ["every process waits for another one; the machine halts"]


@pytest.mark.parametrize("each", [100, 1000])
def test_ten_thousand_files(bombs, each):
    """There are 4,096 inodes, some of which the image and the directories have."""
    run = bombs.run("manyfiles", "10000", str(each))
    values = run.values()
    inodes = 4096 - 1 - len(root_names(run))
    assert values["made"] + values["directories"] == inodes
    assert values["refused"] == 10_000 - values["made"]
    assert (values["removed"], values["left"], values["again"]) == (values["made"], 0, 1)
    assert run.status == 0


def root_names(run):
    fs = run.kernel.fs
    data = bytes(fs.root.readi(0, fs.root.size))
    return [data[at : at + 16] for at in range(32, len(data), 16) if data[at : at + 2] != b"\0\0"]


def test_a_path_of_a_mebibyte(bombs, switches):
    """Nine calls refuse it, and read no more of it than the 128 bytes that a path can have."""
    run = bombs.run("longpath", memory=4 * MIB, **switches)
    values = run.values()
    assert [values[name] for name in ("name", "names", "slashes", "by_one")] == [9] * 4
    assert values["touched"] == 0
    assert run.status == 0


def test_a_thousand_zombies_and_a_thousand_orphans(bombs, switches):
    """``most``: all slots but those of init, the session and the parent itself."""
    run = bombs.run("zombies", memory=8 * MIB, **switches)
    values = run.values()
    assert (values["born"], values["reaped"], values["most"]) == (1000, 1000, SLOTS - 3)
    assert values["refusals"] >= 1000 // (SLOTS - 3)
    assert values["orphans"] == 1
    assert run.status == 0


def test_directories_as_deep_as_can_be(bombs):
    run = bombs.run("deepdirs")
    values = run.values()
    assert values["deep"] == values["removed"] == 4096 - 1 - len(root_names(run))
    assert values["refused"] == -1
    assert (values["top"], values["kept"], values["waited"], values["gone"]) == (1, 1, 1, -1)
    assert values["status"] == 2 + 1
    assert run.status == 0
