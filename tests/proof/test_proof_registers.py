"""All integer registers, 32 known doubles and fcsr survive whatever interrupts a program.

The program has its data at address 0, so that every register can be loaded and stored with x0 as
the base: a table of values lies there, is loaded into all registers, then something happens, then
all registers are stored behind the table. Nothing but what happened may differ.
"""

import struct

import pytest
from support import Machine, Segment, elf_file, peek

from nexemu.events import Exit, PageFault, Switch
from nexemu.riscv import PGSIZE

TEXT, HEAP = PGSIZE, 4 * PGSIZE
INTS, DOUBLES, SAVED_INTS, SAVED_DOUBLES, SAVED_FCSR = 0, 256, 1024, 1280, 1536
FCSR = 3 << 5 | 0b10101  # round up; three of the five flags
A0, A7, COUNTER, PLACE = 10, 17, 30, 31  # COUNTER counts down to 0, PLACE is an address to touch
GETPID, FORK, SLEEP, WAIT, SBRK, UPTIME = 12, 5, 13, 6, 4, 14
INIT = 3

DOUBLE = [(-1.5) ** (number + 1) * 1.0000000000000002 for number in range(32)]
DOUBLE[7], DOUBLE[8], DOUBLE[9] = float("inf"), -0.0, 5e-324

ints = "; ".join(f"ld x{number}, {INTS + 8 * number}(x0)" for number in range(1, 32))
doubles = "; ".join(f"fld f{number}, {DOUBLES + 8 * number}(x0)" for number in range(32))
LOAD = f"li t0, {FCSR}; fscsr t0; {doubles}; {ints}"
SAVE = "; ".join(
    [
        *(f"sd x{number}, {SAVED_INTS + 8 * number}(x0)" for number in range(1, 32)),
        *(f"fsd f{number}, {SAVED_DOUBLES + 8 * number}(x0)" for number in range(32)),
        f"frcsr t0; sd t0, {SAVED_FCSR}(x0)",
    ]
)
EXIT = "li a7, 3; li a0, 0; ecall"
GROW = "li a7, 4; li a0, 0x4000; ecall"
SPIN = "spin: addi x30, x30, -1; bnez x30, spin"


def values(**given):
    """What the registers hold before: a value of its own for each, but for those that are given."""
    table = [number * 0x0123_4567_89AB_CDEF & (1 << 64) - 1 for number in range(32)]
    table[PLACE] = HEAP
    for name, value in given.items():
        table[int(name[1:])] = value
    return table


def run(assemble, happens, table, **switches):
    """What each process had in its registers when it ended: (ints, doubles, fcsr) by pid."""
    saved = {}

    def listen(event):
        if isinstance(event, Exit):
            space = machine.kernel.procs.find(event.pid).space
            words = struct.unpack("<32Q32dQ", peek(space, SAVED_INTS, SAVED_FCSR + 8 - SAVED_INTS))
            saved[event.pid] = list(words[1:32]), list(words[32:64]), words[64]

    code = assemble(f"{GROW}; {LOAD}; {happens}; {SAVE}; {EXIT}")
    data = struct.pack("<32Q32d", *table, *DOUBLE).ljust(PGSIZE, b"\0")
    machine = Machine(b"").build(emit=listen, **switches)
    machine.kernel.boot([], elf_file(Segment(0, data, flags=6), Segment(TEXT, code, flags=5), entry=TEXT))
    assert machine.kernel.run() == 0
    return saved, machine


def check(saved, table, **changed):
    expected = list(table)
    for name, value in changed.items():
        expected[int(name[1:])] = value
    found, floats, fcsr = saved
    wrong = {f"x{n}": hex(found[n - 1]) for n in range(1, 32) if found[n - 1] != expected[n]}
    assert not wrong
    assert struct.pack("<32d", *floats) == struct.pack("<32d", *DOUBLE)
    assert fcsr == FCSR


FAULTS = {
    "load": "lb x0, 0(x31)",
    "compressed load": "c.nop; lb x0, 8(x31)",
    "store": "sb x0, 0(x31)",
    "load and store across pages": "sd x0, 4092(x31)".replace("4092", "2044") + "; lw x0, 2044(x31)",
    "double": "fsd f3, 0(x31)",
    "atomic": "amoadd.w x0, x0, (x31)",
    "every page": "; ".join(f"sb x0, {at}(x31)" for at in (0, 2047)),
}


@pytest.mark.parametrize("text", FAULTS.values(), ids=FAULTS)
def test_page_faults(assemble, switches, text):
    table = values(x31=HEAP + PGSIZE - 4 if "across" in text else HEAP)
    saved, machine = run(assemble, text, table, **switches)
    check(saved[INIT], table)
    assert bool(machine.events.of(PageFault)) == switches["lazy"]


@pytest.mark.parametrize(
    ("number", "a0", "answer"),
    [
        (GETPID, 0, INIT),
        (SBRK, 0, HEAP + 4 * PGSIZE),
        (UPTIME, 9, 0),
        (99, 5, -1),
        (SLEEP, 3, 0),
        (WAIT, 0, -1),
    ],
)
def test_system_calls(assemble, switches, number, a0, answer):
    table = values(x17=number, x10=a0)
    saved, _ = run(assemble, "ecall", table, **switches)
    check(saved[INIT], table, x10=answer & (1 << 64) - 1)


def test_rdtime_sets_its_own_register_only(assemble, switches):
    table = values()
    saved, _ = run(assemble, "rdtime x5; mv x5, x0", table, **switches)
    check(saved[INIT], table, x5=0)


def test_fork_and_the_stores_to_shared_pages(assemble, switches):
    """Both have all registers, and store them to pages that they share."""
    table = values(x17=FORK)
    saved, _ = run(assemble, f"ecall; bnez a0, parent; j on; parent: {wait()}; on: nop", table, **switches)
    check(saved[INIT + 1], table, x10=0)
    check(saved[INIT], table, x10=INIT + 1)


def wait():
    """Wait for the child and put a0 and a7 back to what fork left there."""
    return f"li a0, 0; li a7, {WAIT}; ecall; li a7, {FORK}"


@pytest.mark.parametrize("spins", [1, 30_000, 400_000])
def test_processes_that_take_turns_while_instructions_are_counted(assemble, switches, spins):
    """Neither calls the kernel while it spins: a turn ends wherever its instructions are used up."""
    table = values(x17=FORK, x30=spins)
    happens = f"ecall; {SPIN}; bnez a0, parent; j on; parent: {wait()}; on: nop"
    saved, machine = run(assemble, happens, table, **switches)
    check(saved[INIT + 1], table, x10=0, x30=0)
    check(saved[INIT], table, x10=INIT + 1, x30=0)
    assert len(machine.events.of(Switch)) > 2 * spins // 100_000


def test_a_process_that_sleeps_while_another_uses_every_register(assemble, switches):
    """The child's doubles are the parent's, negated; each finds its own again."""
    negate = "; ".join(f"fsgnjn.d f{number}, f{number}, f{number}" for number in range(32))
    table = values(x17=FORK, x30=50_000)
    child = f"{negate}; fscsr x0; {SPIN}"
    parent = f"li a0, 2; li a7, {SLEEP}; ecall; {wait()}"
    happens = f"ecall; bnez a0, parent; {child}; j on; parent: {parent}; on: nop"
    saved, _ = run(assemble, happens, table, **switches)
    check(saved[INIT], table, x10=INIT + 1)
    _, floats, fcsr = saved[INIT + 1]
    assert struct.pack("<32d", *floats) == struct.pack("<32d", *(-double for double in DOUBLE))
    assert fcsr == 0


def test_a_killed_process_loses_nothing_for_the_others(assemble, switches):
    """The child dies of a bad store in the middle of its registers; the parent has its own."""
    table = values(x17=FORK)
    happens = f"ecall; bnez a0, parent; fscsr x0; sd x0, -8(x0); parent: {wait()}"
    saved, machine = run(assemble, happens, table, **switches)
    check(saved[INIT], table, x10=INIT + 1)
    assert [event.status for event in machine.events.of(Exit)] == [-1, 0]
