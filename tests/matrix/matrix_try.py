"""Try one system call, and compare everything with what should be there afterwards."""

import struct

from gate import names, view
from matrix_calls import AREAS, ENDS, MODELS, WAITS, Case
from matrix_memory import UserMemory
from matrix_world import BREAK, TYPED, World

from nexemu import abi
from nexemu.proc.proc import State
from nexemu.riscv import PGSIZE, PTE_U, PTE_V, pgroundup


def attempt(gate, prototype, registers, prepare=None, zombie=False, size=BREAK):
    """Let a fresh process make the call with these argument registers. ``prepare(space)`` puts bytes into its
    memory first; ``zombie``: it has a child that has ended; ``size``: where its break is."""
    world = World(gate, gate.kernel.options.lazy, size, types=prototype.name == "read")
    child = world.zombie() if zombie else None
    if prepare is not None:
        prepare(world.space)
    case = expect(world, child, asks_for_processes=prototype.name == "getprocs")
    shared = {va for va in case.memory.pages if gate.frames.refcount(frame_at(world.space, va)) > 1}
    pages, tables = set(case.memory.pages), len(list(world.space.table.table_frames()))
    bystanders = {proc.pid: view(proc.space) for proc in gate.procs if proc not in (world.proc, child)}
    model = MODELS.get(prototype.name)
    expected = model(case, *as_c_sees(prototype, registers)) if model is not None else None
    answer = outcome(world.proc, gate.call(world.proc, prototype.name, *registers))
    if model is None:
        check_unknown_call(world, case)
    else:
        assert answer == expected, f"answers {answer}, not {expected}"
        check_caller(world, case)
        check_files(world, case)
        if pages <= set(case.memory.pages) and not case.executed and child is None:
            new = len(case.memory.appeared) + len(case.memory.unshared & shared)
            new += len(list(world.proc.space.table.table_frames())) - tables
            new += "pipe" in prototype.name and answer == 0
            assert case.free - gate.frames.free_frames == new, "frames were taken or lost"
    for proc in gate.procs:
        if proc.pid in bystanders:
            assert view(proc.space) == bystanders[proc.pid], f"a byte of {proc!r} changed"
    if answer == WAITS:
        check_that_it_can_be_killed(gate, world.proc)
    gate.restore()


def expect(world, child, asks_for_processes):
    """The case before the call, from what is there."""
    gate, space = world.gate, world.space
    free, total = gate.frames.free_frames, gate.frames.total
    memory = UserMemory(view(space), space.size, space.paging.lazy)
    mapped = sum(is_mapped(rights, va, space.size) for va, (_, rights) in memory.pages.items())
    pages = pgroundup(space.size) // PGSIZE
    return Case(
        memory=memory,
        nexos=gate.personality.name == "nexos",
        lazy=gate.kernel.options.lazy,
        free=free,
        memstat=struct.pack(abi.MEMSTAT, free, total - free, mapped, pages),
        procinfo=[procinfo(each) for each in gate.procs] if asks_for_processes else [],
        inum=gate.fs.namei(b"/f", gate.fs.root).inum,
        pids={each.pid for each in gate.procs},
        typed=TYPED if gate.machine.console.pending else b"",
        zombie=child.pid if child is not None else None,
        areas=dict(AREAS) if "mmap" in gate.numbers else {},
    )


def is_mapped(rights, va, size):
    return va < size and rights & (PTE_V | PTE_U) == PTE_V | PTE_U


def procinfo(proc):
    pages = view(proc.space)
    mapped = sum(is_mapped(rights, va, proc.space.size) for va, (_, rights) in pages.items())
    parent = proc.parent.pid if proc.parent is not None else 0
    fields = (proc.pid, parent, proc.state, mapped, pgroundup(proc.space.size) // PGSIZE, 0)
    return struct.pack(abi.PROCINFO, *fields, proc.name.encode())


def as_c_sees(prototype, registers):
    return [
        (register + (1 << 31)) % (1 << 32) - (1 << 31) if param.is_int else register
        for param, register in zip(prototype.params, registers, strict=True)
    ]


def outcome(proc, answer):
    if proc.state is State.ZOMBIE:
        return ENDS
    return WAITS if answer is None else answer


def check_caller(world, case):
    proc = world.proc
    if case.status is not None:
        assert (proc.state, proc.xstate) == (State.ZOMBIE, case.status)
        return
    if case.executed:
        assert proc.name == "x"
        assert view(proc.space)[0][0].startswith(b"another program\0")
    else:
        assert view(proc.space) == case.memory.view(), difference(view(proc.space), case.memory.view())
        assert proc.space.size == case.memory.size
        areas = {area.start: (pgroundup(area.length), bool(area.prot & 2)) for area in proc.space.areas}
        assert areas == {start: (pgroundup(size), w) for start, (size, w) in case.areas.items()}
    assert {fd for fd, file in enumerate(proc.files) if file is not None} == set(case.fds)
    assert {each.pid for each in world.gate.procs} == case.pids


def difference(found, wanted):
    """The pages that differ, for a failure's message."""
    pages = sorted(va for va in found.keys() | wanted.keys() if found.get(va) != wanted.get(va))
    return "pages differ: " + ", ".join(f"{va:#x}" for va in pages)


def check_files(world, case):
    gate = world.gate
    root = gate.fs.root
    found = {}
    for name in names(gate.fs):
        inode = gate.fs.namei(b"/" + name, root)
        found[b"/" + name] = None if inode.is_dir else bytes(inode.readi(0, inode.size))
    assert found == case.files
    assert bytes(gate.screen) == case.screen
    assert gate.machine.console.pending == len(case.typed)
    assert bytes(world.pipe._data) == case.piped
    assert world.file.offset == case.offset


def check_unknown_call(world, case):
    """What holds for any call: pages that the process may not write are as they were."""
    after = view(world.proc.space)
    for va, (data, rights) in case.memory.view().items():
        if case.memory.page(va, to_write=True) is None:
            assert after[va] == (data, rights), f"a byte of the page at {va:#x} changed"


def check_that_it_can_be_killed(gate, proc):
    gate.procs.kill(proc)
    gate.resume(proc)
    assert (proc.state, proc.xstate) == (State.ZOMBIE, -1)


def frame_at(space, va):
    return (space.table.pte(va) >> 10) << 12
