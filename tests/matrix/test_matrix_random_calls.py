"""System calls in random order with random arguments, by a few processes at once: every book balances all the
while, and in the end everything is given back.
"""

import random

import pytest
from gate import Gate, poke
from matrix_world import FILES, HEAP, KINDS, VICTIM

from nexemu.errors import GuestError
from nexemu.personality import NEXOS, XV6
from nexemu.proc.proc import State
from nexemu.riscv import PGSIZE, U64, Access
from nexemu.trap.usertrap import die_if_killed

CALLS, MOST = 800, 6
PATHS = [
    b"/f",
    b"/d",
    b"/n",
    b"/u",
    b"/x",
    b"/d/e",
    b"d",
    b".",
    b"..",
    b"",
    b"console",
    b"/",
    b"/d/../f",
    b"n2",
]
SMALL = (*range(-2, 20), 64, 511, 512, 513, PGSIZE - 1, PGSIZE, PGSIZE + 1, 3 * PGSIZE)
LARGE = (0x200, 0x201, 0x202, 0x601, 1 << 20, (1 << 31) - 1, -(1 << 31), 1 << 32, 1 << 63, U64)
USUAL = {
    "fd": range(-1, 9),
    "mode": (0, 0, 1, 2, 0x200, 0x202, 0x402, 0x601),
    "prot": range(5),
    "flags": range(5),
    "ticks": range(-1, 3),
    "pid": range(1, 40),
    "off": (0, PGSIZE, 8),
    "len": (1, PGSIZE, 2 * PGSIZE),
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 30))]
STRING, ARRAY = HEAP, HEAP + 512
"""Where paths lie, and an array that points to one of them."""


class Crowd:
    """Processes that call the kernel in turns."""

    def __init__(self, gate, dice):
        self.gate, self.dice = gate, dice
        for _ in range(2):
            self.furnish(gate.spawn(*VICTIM))

    def furnish(self, proc):
        self.gate.call(proc, "sbrk", 8 * PGSIZE, 1)
        try:
            proc.space.translate(STRING, Access.WRITE)
        except GuestError:
            return
        for number, path in enumerate(PATHS):
            poke(proc.space, STRING + 16 * number, path + b"\0")
        poke(proc.space, ARRAY, STRING.to_bytes(8, "little") + bytes(8))

    def step(self):
        """One process does one thing, or goes on with what it was doing."""
        gate, dice = self.gate, self.dice
        for proc in gate.procs:
            if proc.state is State.ZOMBIE and proc.parent is gate.init:
                gate.procs.reap(proc)
        alive = [proc for proc in gate.procs if proc is not gate.init and proc.state is not State.ZOMBIE]
        if not alive:
            self.furnish(gate.spawn(*VICTIM))
            return
        proc = dice.choice(alive)
        if proc.state is State.SLEEPING:
            if dice.random() < 0.2:
                gate.procs.kill(proc)
        elif proc.kernel is not None:
            proc.state = State.RUNNABLE
            gate.resume(proc)
        elif not self.dies(proc):
            proc.state = State.RUNNING
            prototype = dice.choice(gate.personality.calls)
            rare = prototype.name in ("exit", "kill", "exec") and dice.random() < 0.8
            if not rare and (prototype.name != "fork" or len(alive) < MOST):
                gate.call(proc, prototype.name, *(self.argument(param) for param in prototype.params))

    def dies(self, proc):
        proc.state = State.RUNNING
        return die_if_killed(self.gate.machine, proc)

    def argument(self, param):
        dice = self.dice
        if not param.is_pointer:
            usual = USUAL.get(param.name, SMALL)
            return dice.choice(usual if dice.random() < 0.9 else LARGE)
        if param.name in ("path", "old", "new") and dice.random() < 0.8:
            return STRING + 16 * dice.randrange(len(PATHS))
        if param.name == "argv" and dice.random() < 0.5:
            return ARRAY
        if param.name == "addr" and dice.random() < 0.5:
            return 0
        if dice.random() < 0.6:
            return HEAP + 1024 + dice.randrange(8 * PGSIZE)
        return dice.choice(list(KINDS.values()))(8)


@pytest.mark.parametrize("personality", [NEXOS, XV6], ids=["nexos", "xv6"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_calls(switches, tried, personality, seed):
    gate = Gate(personality, pages=400, files=FILES, **switches)
    crowd = Crowd(gate, random.Random(seed))
    for number in range(CALLS):
        tried()
        crowd.step()
        if number % 4 == 0:
            gate.kernel.audit()
    gate.end_processes()
    gate.kernel.audit()
