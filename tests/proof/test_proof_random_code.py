"""Random instructions with random registers: whatever a program executes, the kernel goes on, nobody else
loses a byte, and every book balances.

Three kinds: bytes as they come; instructions that exist, mostly with good addresses, so that a
program lives for a while; and system calls between them, with whatever the registers hold.
"""

import random

import capstone
import pytest
from gate import Gate, poke, view
from matrix_world import DATA, FILES, HEAP, World

from nexemu.proc.proc import State
from nexemu.riscv import PGSIZE, Cause
from nexemu.trap.usertrap import die_if_killed, usertrap

PROGRAMS, SLICES, BUDGET = 60, 20, 500
SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 40))]
ECALL = bytes.fromhex("73 00 00 00")
GOOD, SPARE = 8, 9  # x8 points to data, so that nothing else is put there
MEMORY = (0x03, 0x07, 0x23, 0x27, 0x2F)
OPCODES = (
    *MEMORY,
    *(0x0F, 0x13, 0x17, 0x1B, 0x33, 0x37, 0x3B, 0x43, 0x47, 0x4B, 0x4F, 0x53, 0x63, 0x67, 0x6F, 0x73),
)
CAUSES = {0, 1, *range(2, 9), 12, 13, 15, Cause.TIMER}
JUMPS = ("j", "b", "c.j", "c.b")
"""Left out where nothing counts instructions: such a program need not end."""


def instructions(dice, jumps):
    """Existing instructions, as many of one kind as of another."""
    engine = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC)
    found = {}
    for _ in range(4000):
        code = compressed(dice) if dice.random() < 0.4 else full(dice)
        for _, size, mnemonic, _ in engine.disasm_lite(code, 0, 1):
            if size == len(code) and (jumps or not mnemonic.startswith(JUMPS)):
                found.setdefault(mnemonic, []).append(code)
    return list(found.values())


def compressed(dice):
    return (dice.getrandbits(16) & ~3 | dice.choice((0, 1, 2))).to_bytes(2, "little")


def full(dice):
    word = dice.getrandbits(32) & ~0x7F | dice.choice(OPCODES)
    if word & 0x7F in MEMORY:
        word = word & ~(31 << 15) | GOOD << 15
    if word >> 7 & 31 == GOOD:
        word = word & ~(31 << 7) | SPARE << 7
    return word.to_bytes(4, "little")


def program(dice, kinds):
    if dice.random() < 0.2:
        return dice.randbytes(PGSIZE)
    code = b""
    while len(code) < PGSIZE:
        code += ECALL if dice.random() < 0.05 else dice.choice(dice.choice(kinds))
    return code[:PGSIZE]


def value(dice):
    return dice.choice(
        [
            dice.getrandbits(64),
            dice.getrandbits(12),
            HEAP + dice.getrandbits(14),
            DATA + dice.getrandbits(12),
            HEAP + 8 * dice.getrandbits(11),
        ]
    )


class Victim:
    """A process that executes a random program; the others must not notice."""

    def __init__(self, gate, dice, code):
        self.gate, self.dice = gate, dice
        self.world = World(gate, gate.kernel.options.lazy)
        self.proc = self.world.proc
        poke(self.world.space, 0, code)
        self.world.space.code_changed()
        self.proc.context.pc = 0
        for number in range(1, 32):
            address = HEAP + 8 * dice.getrandbits(9) if number == GOOD else value(dice)
            gate.machine.hart.write_register(self.proc.context, number, address)

    def run(self, budget, tried):
        """Until it waits or ends, but not for ever."""
        gate, proc = self.gate, self.proc
        for _ in range(SLICES):
            if proc.state is not State.RUNNING:
                break
            trap = gate.machine.hart.run(proc.space, proc.context, budget)
            assert trap.cause in CAUSES
            tried("traps of random code")
            if trap.cause == Cause.USER_ECALL:
                self.arguments()
            usertrap(gate.machine, proc, trap)
            if proc.state is State.RUNNING:
                die_if_killed(gate.machine, proc)

    def arguments(self):
        """What the registers hold; but the number is often one that exists."""
        gate, proc = self.gate, self.proc
        registers = [gate.machine.hart.read_register(proc.context, number) for number in range(10, 18)]
        if self.dice.random() < 0.8:
            registers[7] = self.dice.choice(list(gate.numbers.values()))
        gate.arguments = registers


@pytest.mark.parametrize("budget", [None, BUDGET], ids=["free", "counted"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(switches, tried, seed, budget):
    dice = random.Random(f"{seed} {budget}")
    gate = Gate(files=FILES, **switches)
    kinds = instructions(dice, jumps=budget is not None)
    assert len(kinds) > 70
    for _ in range(PROGRAMS):
        victim = Victim(gate, dice, program(dice, kinds))
        bystanders = {each: view(each.space) for each in (gate.init, victim.world.sibling)}
        victim.run(budget, tried)
        for proc, before in bystanders.items():
            assert view(proc.space) == before
        gate.restore()
