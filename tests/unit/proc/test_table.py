"""The process table: slots and pids, sleeping and waking, ending and being waited for."""

import pytest
from support import Machine, Segment, elf_file

from nexemu.errors import BadCall, OutOfMemory
from nexemu.events import Exit, Fork, Reap
from nexemu.proc.exec import load
from nexemu.proc.proc import State
from nexemu.riscv import Access

PROGRAM = elf_file(Segment(0, b"\x13\0\0\0", flags=5), Segment(4096, b"data", flags=6))


@pytest.fixture(params=[False, True], ids=["copy", "cow"])
def run(request):
    return Machine(b"").build(cow=request.param, memory=4 << 20)


@pytest.fixture
def table(run):
    yield run.kernel.procs
    run.kernel.audit()


def make(run, name="init"):
    """A process with an image, as boot makes the first."""
    kernel = run.kernel
    space = kernel.procs.new_space()
    load(space, memoryview(PROGRAM), [], kernel.options.personality)
    return kernel.procs.create(name, space, kernel.fs.idup(kernel.fs.root))


@pytest.fixture
def init(run, table):
    return make(run)


def end(table, proc, status=0):
    table.exit(proc, status)
    table.reap(proc)


# ---- pids and slots ---------------------------------------------------------------------------


def test_pids_begin_at_3_behind_the_two_workers(table, init):
    assert init.pid == 3
    assert table.init is init
    assert [table.fork(init).pid for _ in range(3)] == [4, 5, 6]


def test_13_children_fit_beside_init_and_a_refused_fork_uses_no_pid(run, table, init):
    """NPROC is 16, two of them workers."""
    children = [table.fork(init) for _ in range(13)]
    free = run.kernel.frames.free_frames
    with pytest.raises(BadCall, match="16 process slots"):
        table.fork(init)
    assert run.kernel.frames.free_frames == free
    end(table, children[0])
    assert table.fork(init).pid == 3 + 13 + 1


def test_pids_are_not_used_again(table, init):
    end(table, table.fork(init))
    assert table.fork(init).pid == 5


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_fork_without_memory_leaves_nothing_but_a_gap_in_the_pids(run, table, init, n):
    frames, free = run.kernel.frames, run.kernel.frames.free_frames
    frames.fail_at = n
    with pytest.raises(OutOfMemory):
        table.fork(init)
    assert frames.free_frames == free
    assert [proc.pid for proc in table] == [3]
    assert run.kernel.fs.root.ref == 1
    run.kernel.audit()
    assert table.fork(init).pid == 5


# ---- fork -------------------------------------------------------------------------------------


def test_a_child_inherits_and_sees_0(run, table, init):
    kernel = run.kernel
    init.files[0] = kernel.files.console()
    init.files[2] = kernel.files.dup(init.files[0])
    init.job = 7
    kernel.hart.write_register(init.context, 10, 99)
    kernel.hart.write_register(init.context, 20, 77)
    init.context.pc = 0x40
    child = table.fork(init)
    assert (child.parent, child.name, child.job, child.cwd) == (init, "init", 7, init.cwd)
    assert [file is init.files[0] for file in child.files[:3]] == [True, False, True]
    assert child.context.pc == 0x40
    assert [kernel.hart.read_register(child.context, number) for number in (10, 20)] == [0, 77]
    assert kernel.hart.read_register(init.context, 10) == 99
    assert child.state is State.RUNNABLE
    assert table.scheduler.choose() == child.pid


def test_a_fork_is_reported_with_what_it_cost(run, table, init):
    child = table.fork(init)
    pages = 4  # text, data, guard, stack
    shared, copied = (pages, 0) if run.kernel.options.cow else (0, pages)
    assert run.events.of(Fork) == [Fork(3, child.pid, shared, copied)]


def test_a_child_whose_text_was_copied_must_not_run_what_was_translated_before(run, table, init):
    """Its frames may have held other code at the same addresses."""
    before = run.kernel.frames.code_epoch
    child = table.fork(init)
    if run.kernel.options.cow:
        assert child.space.code_epoch == init.space.code_epoch
    else:
        assert child.space.code_epoch > before


# ---- ending -----------------------------------------------------------------------------------


def test_exit_closes_and_lets_go_and_keeps_the_memory_until_the_parent_waits(run, table, init):
    kernel = run.kernel
    child = table.fork(init)
    child.files[5] = kernel.files.console()
    free = kernel.frames.free_frames
    table.exit(child, 747)
    assert (child.state, child.xstate) == (State.ZOMBIE, 747)
    assert child.files == [None] * 16
    assert kernel.files.in_use == 0
    assert kernel.fs.root.ref == 1
    assert kernel.frames.free_frames == free
    kernel.audit()
    table.reap(child)
    assert kernel.frames.free_frames > free
    assert table.find(child.pid) is None
    assert run.events.of(Exit) == [Exit(child.pid, "init", 747)]
    assert run.events.of(Reap) == [Reap(3, child.pid)]


def test_orphans_become_inits_and_init_hears_of_zombies_among_them(table, init):
    child = table.fork(init)
    alive, dead = table.fork(child), table.fork(child)
    table.exit(dead, 1)
    init.sleep(init)
    table.exit(child, 0)
    assert (alive.parent, dead.parent) == (init, init)
    assert init.state is State.RUNNABLE


def test_a_waiting_parent_is_woken_by_its_childs_exit(table, init):
    child = table.fork(init)
    init.sleep(init)
    table.exit(child, 0)
    assert init.state is State.RUNNABLE


def test_zombie_child_tells_none_yet_from_none_at_all(table, init):
    with pytest.raises(BadCall, match="no children"):
        table.zombie_child(init)
    child = table.fork(init)
    assert table.zombie_child(init) is None
    table.exit(child, 0)
    assert table.zombie_child(init) is child


# ---- sleeping and waking ----------------------------------------------------------------------


def test_wakeup_wakes_those_who_sleep_on_that_channel_only(table, init):
    first, second = table.fork(init), table.fork(init)
    here, there = object(), object()
    first.sleep(here)
    second.sleep(there)
    table.wakeup(here)
    assert (first.state, second.state) == (State.RUNNABLE, State.SLEEPING)
    table.wakeup(None)
    assert second.state is State.SLEEPING


def test_channels_are_compared_by_identity(table, init):
    """Two pipes with the same bytes are two pipes."""
    child = table.fork(init)
    child.sleep([1])
    table.wakeup([1])
    assert child.state is State.SLEEPING


def test_sleepers_with_a_moment_wake_in_their_order(table, init):
    first, second = table.fork(init), table.fork(init)
    assert table.next_wake() is None
    for proc, moment in ((first, 300), (second, 200)):
        table.wake_at(proc, moment)
        proc.sleep("clock")
    assert table.next_wake() == 200
    table.wake_due(199)
    assert second.state is State.SLEEPING
    table.wake_due(200)
    assert (first.state, second.state) == (State.SLEEPING, State.RUNNABLE)
    assert table.next_wake() == 300


def test_a_sleeper_that_is_killed_wakes_at_once_and_its_moment_is_forgotten(table, init):
    child = table.fork(init)
    table.wake_at(child, 1000)
    child.sleep("clock")
    table.kill(child)
    assert child.killed
    assert child.state is State.RUNNABLE
    assert table.next_wake() is None


def test_killing_one_that_can_run_only_marks_it(table, init):
    child = table.fork(init)
    table.kill(child)
    assert (child.killed, child.state) == (True, State.RUNNABLE)
    assert table.scheduler.waiting() == 1


# ---- what keys act upon -----------------------------------------------------------------------


def test_the_foreground_is_what_the_shells_current_line_started(table, init):
    shell = table.fork(init)
    shell.job = 1
    background = table.fork(shell)
    shell.job = 2  # the shell has read its next line
    foreground = table.fork(shell)
    its_child = table.fork(foreground)
    assert table.foreground() == [foreground, its_child]
    assert background not in table.foreground()


def test_an_orphan_of_an_earlier_line_does_not_bring_its_children_to_the_foreground(table, init):
    """`memhog &`: its parent is gone, so that it is init's child, and it has a child itself."""
    shell = table.fork(init)
    shell.job = 1
    starter = table.fork(shell)
    orphan = table.fork(starter)
    table.fork(orphan)
    table.exit(starter, 0)
    shell.job = 2
    assert table.foreground() == []


def test_the_listing_shows_each_process_on_a_line(table, init):
    child = table.fork(init)
    child.name = "sh"
    child.sleep(child)
    assert table.listing().splitlines() == [
        "  pid  ppid state     name",
        "    3     0 runnable  init",
        "    4     3 sleeping  sh",
    ]


def test_memory_of_a_child_is_its_own(table, init):
    child = table.fork(init)
    child.space.translate(4096, Access.WRITE)
    assert child.space.table.pte(4096) != init.space.table.pte(4096)
