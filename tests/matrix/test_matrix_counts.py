"""Every number that a call takes - lengths, counts, descriptors, modes, pids - against the numbers at which
code goes wrong.

Generated from abi.py. An ``int`` is tried twice, since its register's upper half must not matter.
"""

from functools import partial

import pytest
from gate import poke
from matrix_scenes import OTHER_STRING, POINTER, SCENES
from matrix_try import attempt
from matrix_world import AREA, BUFFER, OPEN_FILE, PRIVATE

from nexemu.abi import MAP_ANON, MAP_PRIVATE, PROT_READ, PROT_WRITE, SBRK_EAGER
from nexemu.memlayout import TRAPFRAME
from nexemu.personality import NEXOS, XV6, XV6_ONE_ARGUMENT_SBRK
from nexemu.riscv import PGSIZE, U64

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
NUMBERS = (0, 1, -1, INT_MIN, INT_MAX, PGSIZE - 1, PGSIZE, PGSIZE + 1)
WIDE_NUMBERS = (*NUMBERS, 1 << 32, TRAPFRAME, 1 << 38, 1 << 63, U64 - PGSIZE + 1, U64 - PGSIZE + 2)
UPPER_HALF = 0xDEAD_BEEF << 32

ANON = MAP_PRIVATE | MAP_ANON
BASES = {
    "sbrk": [(3 * PGSIZE, SBRK_EAGER), (3 * PGSIZE, 2), (-2 * PGSIZE, SBRK_EAGER)],
    "mmap": [
        (0, 3 * PGSIZE, PROT_READ | PROT_WRITE, ANON, -1, 0),
        (0, 3 * PGSIZE, PROT_READ, MAP_PRIVATE, OPEN_FILE, PGSIZE),
    ],
    "munmap": [(AREA, PGSIZE), (AREA + PGSIZE, PGSIZE), (AREA + 2 * PGSIZE, PGSIZE)],
}
"""Arguments that succeed, for calls that the scenes do not show from enough sides."""


def bases(prototype):
    """Argument lists of which one number at a time is replaced."""
    scenes = [each for each in SCENES if each.call == prototype.name]
    if prototype.name in BASES:
        return [arguments[: len(prototype.params)] for arguments in BASES[prototype.name]]
    return [each.arguments for each in scenes] or [[1] * len(prototype.params)]


def is_number(param):
    return not param.is_pointer


TRIALS = [
    pytest.param(each, row, position, id=f"{each.name}{len(row.params)} {row.name}.{param.name}")
    for each, rows in (
        (NEXOS, NEXOS.calls),
        (XV6, XV6.calls),
        (XV6_ONE_ARGUMENT_SBRK, [row for row in XV6_ONE_ARGUMENT_SBRK.calls if row.name == "sbrk"]),
    )
    for row in rows
    for position, param in enumerate(row.params)
    if is_number(param)
]


def registers_for(prototype, position):
    """The argument registers of each case."""
    is_int = prototype.params[position].is_int
    for base in bases(prototype):
        good = [PRIVATE if argument is POINTER else argument for argument in base]
        for number in NUMBERS if is_int else WIDE_NUMBERS:
            yield [*good[:position], number & U64, *good[position + 1 :]]
            if is_int:
                yield [*good[:position], number & 0xFFFF_FFFF | UPPER_HALF, *good[position + 1 :]]


@pytest.mark.parametrize(("personality", "prototype", "position"), TRIALS)
def test_a_number_of_any_size(gates, switches, tried, personality, prototype, position):
    gate = gates(personality, **switches)
    content = next((each.content for each in SCENES if each.call == prototype.name), b"")
    for registers in registers_for(prototype, position):
        tried()
        try:
            attempt(gate, prototype, registers, partial(prepare, prototype, content))
        except BaseException as error:
            error.add_note(f"{prototype.name}({', '.join(f'{register:#x}' for register in registers)})")
            raise


def prepare(prototype, content, space):
    poke(space, BUFFER, OTHER_STRING.get(f"{prototype.name}.old", b"a string\0"))
    poke(space, PRIVATE, content)


def test_the_matrix_is_as_large_as_it_should_be():
    """31 numbers of NexOS, 14 of xv6, and its older sbrk."""
    assert sum(len(list(registers_for(*trial.values[1:]))) for trial in TRIALS) * 4 >= 4_000
