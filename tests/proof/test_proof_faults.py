"""sepc, scause and stval of every fatal fault: every kind of instruction, at every kind of bad address.

Each is tried in code that runs free, and two bytes further on in code whose instructions are
counted. Nothing is stored by an instruction that faults, and the kernel takes no frame for it.
"""

import pytest
from gate import Gate, poke, view
from matrix_world import AREA, BREAK, DATA, FILES, GUARD, HEAP, HEAP_END, LAZY, MORE_DATA, MORE_TEXT, World
from support import Segment

from nexemu.events import BadAccess
from nexemu.memlayout import KERNBASE, TRAMPOLINE, TRAPFRAME
from nexemu.proc.proc import State
from nexemu.riscv import MAXVA, PGSIZE, U64
from nexemu.trap.usertrap import die_if_killed, usertrap

LOAD, STORE, FETCH = 13, 15, 12
A0, SP = 10, 2
CODE = 0x300
"""Where in the text the code under test is put."""

WAYS = (("", None), ("c.nop; ", 1000))

LOADS = {
    "lb a1, {}(a0)": 1,
    "lbu a1, {}(a0)": 1,
    "lh a1, {}(a0)": 2,
    "lhu a1, {}(a0)": 2,
    "lw a1, {}(a0)": 4,
    "lwu a1, {}(a0)": 4,
    "ld a1, {}(a0)": 8,
    "flw fa1, {}(a0)": 4,
    "fld fa1, {}(a0)": 8,
    "c.lw a1, {}(a0)": 4,
    "c.ld a1, {}(a0)": 8,
    "c.fld fa1, {}(a0)": 8,
    "c.lwsp a1, {}(sp)": 4,
    "c.ldsp a1, {}(sp)": 8,
    "c.fldsp fa1, {}(sp)": 8,
}
STORES = {
    "sb a1, {}(a0)": 1,
    "sh a1, {}(a0)": 2,
    "sw a1, {}(a0)": 4,
    "sd a1, {}(a0)": 8,
    "fsw fa1, {}(a0)": 4,
    "fsd fa1, {}(a0)": 8,
    "c.sw a1, {}(a0)": 4,
    "c.sd a1, {}(a0)": 8,
    "c.fsd fa1, {}(a0)": 8,
    "c.swsp a1, {}(sp)": 4,
    "c.sdsp a1, {}(sp)": 8,
    "c.fsdsp fa1, {}(sp)": 8,
}
ATOMICS = {
    "lr.w a1, (a0)": (4, LOAD),
    "lr.d a1, (a0)": (8, LOAD),
    "amoswap.w a1, a2, (a0)": (4, STORE),
    "amoadd.w a1, a2, (a0)": (4, STORE),
    "amoxor.d a1, a2, (a0)": (8, STORE),
    "amomin.d a1, a2, (a0)": (8, STORE),
    "amomaxu.w.aqrl a1, a2, (a0)": (4, STORE),
}
NOWHERE = {
    "at the end of the last page": HEAP_END,
    "a gigabyte up": HEAP_END + (1 << 30),
    "guard": GUARD + 8,
    "kernel RAM": KERNBASE,
    "trapframe": TRAPFRAME + 16,
    "trampoline": TRAMPOLINE,
    "below MAXVA": MAXVA - 8,
    "MAXVA": MAXVA,
    "good + 2^32": (1 << 32) + DATA,
    "good + 2^39": (1 << 39) + DATA,
    "sign bit": 1 << 63,
    "good + sign bit": (1 << 63) + DATA,
    "the last eight bytes": U64 - 7,
}
READ_ONLY = {"text": MORE_TEXT + 64}
EDGES = {"into the guard page": GUARD, "into nothing": HEAP_END, "into the trapframe": TRAPFRAME}


@pytest.fixture
def gate(switches):
    return Gate(files=FILES, **switches)


class Trial:
    """A process about to execute one instruction."""

    def __init__(self, gate, code, at=CODE, **registers):
        self.gate = gate
        self.world = World(gate, gate.kernel.options.lazy)
        self.proc, self.space = self.world.proc, self.world.space
        poke(self.space, at, code)
        self.space.code_changed()
        self.proc.context.pc = at
        for name, value in registers.items():
            gate.machine.hart.write_register(self.proc.context, int(name[1:]), value)

    def run(self, budget):
        """Until it dies; the BadAccess. A fault that was resolved is no trap."""
        gate = self.gate
        before = view(self.space)
        trap = gate.machine.hart.run(self.space, self.proc.context, budget)
        usertrap(gate.machine, self.proc, trap)
        assert die_if_killed(gate.machine, self.proc)
        assert (self.proc.state, self.proc.xstate) == (State.ZOMBIE, -1)
        after = view(self.space)
        assert {va: after[va][0] for va in before} == {va: data for va, (data, _) in before.items()}
        (event,) = gate.events.of(BadAccess)
        assert f"(scause {event.cause})" in gate.log[-1]
        gate.restore()
        return event.cause, event.sepc, event.stval


def check(gate, assemble, tried, template, offset, va, expected):
    """Both ways."""
    text = template.format(offset) if "{}" in template else template
    base = va - offset if "{}" in template else va
    register = "x2" if "(sp)" in text else "x10"
    for lead, budget in WAYS:
        code = assemble(f"{lead}{text}; nop; nop")
        tried("fatal faults")
        found = Trial(gate, code, **{register: base & U64}).run(budget)
        cause, stval = expected
        assert found == (cause, CODE + 2 * bool(lead), stval), f"{text} at {va:#x}"


@pytest.mark.parametrize("template", LOADS)
def test_loads(gate, assemble, tried, template):
    for va in NOWHERE.values():
        check(gate, assemble, tried, template, 16, va, (LOAD, va))


@pytest.mark.parametrize("template", STORES)
def test_stores(gate, assemble, tried, template):
    for va in (NOWHERE | READ_ONLY).values():
        check(gate, assemble, tried, template, 24, va, (STORE, va))


@pytest.mark.parametrize("template", ATOMICS)
def test_atomics(gate, assemble, tried, template):
    """An atomic's fault is a store/AMO fault, though Unicorn loads first; lr is a load."""
    _, cause = ATOMICS[template]
    places = NOWHERE if cause == LOAD else NOWHERE | READ_ONLY
    for va in places.values():
        check(gate, assemble, tried, template, 0, va, (cause, va))


@pytest.mark.parametrize("template", ATOMICS)
def test_misaligned_atomics(gate, assemble, tried, template):
    """Wherever they lie: their address is looked at before the page is."""
    size, cause = ATOMICS[template]
    misaligned = {LOAD: 4, STORE: 6}[cause]
    for va in (DATA + 1, DATA + size // 2, DATA + PGSIZE - 2, LAZY + 1, MORE_TEXT + 2, HEAP_END + 1):
        check(gate, assemble, tried, template, 0, va, (misaligned, va))


@pytest.mark.parametrize(("template", "size"), [each for each in (LOADS | STORES).items() if each[1] > 1])
def test_accesses_across_pages(gate, assemble, tried, template, size):
    """The first page is good, the second is not: stval is its first byte."""
    cause = STORE if template in STORES else LOAD
    for edge in [*EDGES.values(), *([MORE_TEXT] if cause == STORE else [])]:
        for inside in {1, size // 2, size - 1}:
            check(gate, assemble, tried, template, 8, edge - inside, (cause, edge))


@pytest.mark.parametrize("target", [*NOWHERE.values(), MORE_DATA, HEAP, LAZY, BREAK - 2, AREA, AREA + PGSIZE])
@pytest.mark.parametrize("jump", ["jr a0", "c.jr a0", "jalr a0", "c.jalr a0", "jalr ra, 2(a0)"])
def test_jumps(gate, assemble, tried, jump, target):
    """sepc and stval are the target; a heap page that was never touched is not even made."""
    offset = 2 if "2(" in jump else 0
    for budget in (None, 1000):
        tried("fatal faults")
        trial = Trial(gate, assemble(jump), x10=target - offset & U64)
        assert trial.run(budget) == (FETCH, target & ~1, target & ~1)


@pytest.mark.parametrize("text", ["addi a1, a1, 1", "lw a1, 0(a0)", "sd a1, 0(a0)"])
def test_an_instruction_whose_second_half_is_on_a_page_without_x(gate, assemble, tried, text):
    for budget in (None, 1000):
        tried("fatal faults")
        trial = Trial(gate, assemble(text), at=DATA - 2, x10=DATA)
        assert trial.run(budget) == (FETCH, DATA - 2, DATA)


OTHERS = {
    "ebreak": 3,
    "c.ebreak": 3,
    ".word 0": 2,
    ".word 0xffffffff": 2,
    "csrr a0, sstatus": 2,
    "mret": 2,
    "wfi": 2,
    "csrw cycle, a0": 2,
}


@pytest.mark.parametrize(("text", "cause"), OTHERS.items())
def test_what_is_no_page_fault_has_no_stval(gate, assemble, tried, text, cause):
    for lead, budget in WAYS:
        tried("fatal faults")
        found = Trial(gate, assemble(f"{lead}{text}; nop")).run(budget)
        assert found == (cause, CODE + 2 * bool(lead), 0)


@pytest.mark.parametrize("code", [b"\0\0", bytes.fromhex("02 90")])
def test_a_short_instruction_at_the_very_end_of_the_text(gate, code):
    """Two bytes, behind which nothing can be read; it was no ``rdtime``."""
    proc = gate.spawn(Segment(0, b"\x01" * 4094 + code, flags=5))
    proc.context.pc = 4094
    proc.space.code_changed()
    trap = gate.machine.hart.run(proc.space, proc.context, None)
    usertrap(gate.machine, proc, trap)
    assert die_if_killed(gate.machine, proc)
    (event,) = gate.events.of(BadAccess)
    assert event[2:5] == ({b"\0\0": 2, bytes.fromhex("02 90"): 3}[code], 4094, 0)
    gate.restore()
