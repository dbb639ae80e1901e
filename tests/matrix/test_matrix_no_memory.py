"""Whatever allocates fails at its first frame, at its second, and so on up to its last: the call gives -1 or
the process dies, nothing is lost or changed, and the next try, with memory, succeeds.
"""

from dataclasses import dataclass

import pytest
from gate import poke, view
from matrix_world import (
    ANON,
    BREAK,
    COW,
    HEAP_END,
    LAZY,
    MORE_COW,
    MORE_LAZY,
    NULL_ARRAY,
    OPEN_FILE,
    PATH,
    PIPE_READER,
    PIPE_WRITER,
    PIPED,
    World,
)

from nexemu.abi import PROT_READ, PROT_WRITE, SBRK_EAGER
from nexemu.personality import NEXOS, XV6
from nexemu.proc.proc import State
from nexemu.riscv import PGSIZE, PTE_COW, PTE_W
from nexemu.trap.usertrap import die_if_killed, usertrap

DIED = "died"
NEW_SPACE = 4  # a root, two tables and the trapframe
LOW_TABLES = 2
REGION = 512 * PGSIZE  # what one last-level table maps
LOAD, STORE = 0x100, 0x200
CODE = {LOAD: "03 06 05 00 73 00 00 00", STORE: "23 00 b5 00 73 00 00 00"}
"""Where in the text lie ``lb a2, 0(a0); ecall`` and ``sb a1, 0(a0); ecall``."""


@dataclass(frozen=True)
class Setting:
    """Which machine: so that the number of frames that an operation takes can be said beforehand."""

    xv6: bool
    lazy: bool
    cow: bool

    @property
    def touched_areas(self):
        return 0 if self.xv6 else 3

    @property
    def resident(self):
        """Pages below the break, guard page included."""
        return 12 if self.lazy else 14


def call(name, *arguments):
    return lambda world: world.gate.call(world.proc, name, *arguments)


def touch(instruction, address):
    """Let the process execute one load or store. Returns 0, or DIED."""

    def act(world):
        gate, proc = world.gate, world.proc
        proc.context.pc = instruction
        gate.machine.hart.write_register(proc.context, 10, address)
        trap = gate.machine.hart.run(world.space, proc.context, None)
        if trap.epc != instruction:
            return 0
        usertrap(gate.machine, proc, trap)
        assert die_if_killed(gate.machine, proc)
        assert "no frame left" in gate.log[-1] or "injected" in gate.log[-1]
        return DIED

    return act


def nothing(world):
    pass


def grow(pages):
    return lambda world: world.gate.call(world.proc, "sbrk", pages * PGSIZE, *lazy_kind(world))


def lazy_kind(world):
    return () if world.gate.personality is NEXOS else (2,)


def up_to_the_next_table(world):
    """Move the break, without a page, to three pages below where a new last-level table begins."""
    world.space.size = REGION - 3 * PGSIZE


def big_area(world):
    length = REGION + 8 * PGSIZE
    world.area = world.gate.call(world.proc, "mmap", 0, length, PROT_READ | PROT_WRITE, ANON, -1, 0)


def touch_area(world):
    return touch(STORE, world.area)(world)


@dataclass(frozen=True)
class Operation:
    """``frames(setting)``: how many it takes; None where it cannot be done. ``failure``: how it fails."""

    act: object
    frames: object
    prepare: object = nothing
    failure: object = -1


def lazily(count):
    return lambda setting: count if setting.lazy else 0


def stored(count):
    """Eager pages are there, but fork has shared them."""
    return lambda setting: count if setting.lazy or setting.cow else 0


def when_shared(count):
    return lambda setting: count if setting.cow else 0


OPERATIONS = {
    "fork": Operation(
        call("fork"),
        lambda s: NEW_SPACE + LOW_TABLES + s.touched_areas + (0 if s.cow else s.resident),
    ),
    "exec": Operation(call("exec", PATH, NULL_ARRAY), lambda s: NEW_SPACE + LOW_TABLES + 3),
    "sbrk, eager": Operation(
        lambda world: world.gate.call(world.proc, "sbrk", 8 * PGSIZE, *eager_kind(world)),
        lambda s: 9 if s.xv6 or not s.lazy else 0,
        up_to_the_next_table,
    ),
    "a load from a lazy page": Operation(touch(LOAD, LAZY), lazily(1), failure=DIED),
    "a store to a lazy page": Operation(touch(STORE, LAZY), stored(1), failure=DIED),
    "a store to a lazy page far up": Operation(
        touch(STORE, 3 << 29), lambda s: 3 if s.xv6 or s.lazy else None, grow((1 << 31) // PGSIZE - 32), DIED
    ),
    "a store to a COW page": Operation(touch(STORE, COW), when_shared(1), failure=DIED),
    "a store to an area far down": Operation(touch_area, lambda s: None if s.xv6 else 2, big_area, DIED),
    "read into lazy pages": Operation(call("read", OPEN_FILE, LAZY, 64), stored(1)),
    "read into COW pages": Operation(call("read", OPEN_FILE, MORE_COW - 8, 64), when_shared(2)),
    "read from a pipe": Operation(call("read", PIPE_READER, MORE_LAZY + PGSIZE - 8, 64), stored(1)),
    "write to a pipe from lazy pages": Operation(call("write", PIPE_WRITER, LAZY, 64), lazily(1)),
    "write to a file from a lazy page": Operation(call("write", OPEN_FILE, LAZY, 64), lazily(1)),
    "a path that goes on in a lazy page": Operation(call("open", LAZY - 2, 0), lazily(1)),
    "pipe": Operation(call("pipe", LAZY), lambda s: 1 + stored(1)(s)),
    "fstat": Operation(call("fstat", OPEN_FILE, COW), when_shared(1)),
}


def eager_kind(world):
    return () if world.gate.personality is NEXOS else (SBRK_EAGER,)


@pytest.mark.parametrize("personality", [NEXOS, XV6], ids=["nexos", "xv6"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failure_at_every_frame(gates, switches, tried, personality, name):
    gate, operation = gates(personality, **switches), OPERATIONS[name]
    frames = operation.frames(Setting(personality is XV6, **switches))
    if frames is None:
        return
    for number in range(1, frames + 1):
        tried()
        fail(gate, operation, number)
    world = prepared(gate, operation)
    gate.frames.fail_at = frames + 1
    assert operation.act(world) != operation.failure
    assert gate.frames.fail_at == 1, "it takes another number of frames than expected"
    gate.frames.fail_at = None
    gate.restore()


def prepared(gate, operation):
    world = World(gate, gate.kernel.options.lazy, HEAP_END if operation.prepare is nothing else BREAK)
    poke(world.space, LAZY - 2, b"/f")
    for address, code in CODE.items():
        poke(world.space, address, bytes.fromhex(code))
    world.space.code_changed()
    operation.prepare(world)
    return world


def fail(gate, operation, number):
    world = prepared(gate, operation)
    before = books(world)
    gate.frames.fail_at = number
    assert operation.act(world) == operation.failure
    assert gate.frames.fail_at is None
    gate.kernel.audit()
    compare(world, before)
    assert bytes(world.pipe._data) == PIPED
    if operation.failure == DIED:
        assert world.proc.state is State.ZOMBIE
        assert world.proc.xstate == -1
    else:
        assert operation.act(world) not in (operation.failure, None), "the next try"
    gate.restore()


def books(world):
    gate, space = world.gate, world.space
    others = {proc.pid: view(proc.space) for proc in gate.procs if proc is not world.proc}
    return gate.frames.free_frames, view(space), len(list(space.table.table_frames())), others, space.size


def compare(world, before):
    """No byte changed but those that the call had stored, no page was lost, and none that is not there was
    taken. Pages that a fork had begun to share stay COW; so may tables that were made."""
    gate, space = world.gate, world.space
    free, pages, tables, others, size = before
    now = view(space)
    assert space.size == size
    assert {proc.pid for proc in gate.procs} == {world.proc.pid, *others}
    assert all(view(proc.space) == others[proc.pid] for proc in gate.procs if proc is not world.proc)
    split = 0
    for va, (data, rights) in pages.items():
        same = (now[va][0] == data, now[va][1] in (rights, rights & ~PTE_W | PTE_COW))
        became_private = rights & PTE_COW and now[va][1] == rights & ~PTE_COW | PTE_W
        split += bool(became_private)
        assert same == (True, True) or became_private
    new_tables = len(list(space.table.table_frames())) - tables
    assert free - gate.frames.free_frames == len(now) - len(pages) + split + new_tables
