"""Every pointer parameter of every call of both personalities, against addresses of every kind.

Generated from abi.py: a call is covered by being listed there. The right value is the call's own
error or its success, and every byte that the call is not to change is as it was.
"""

from functools import partial

import pytest
from gate import poke
from matrix_scenes import OTHER_STRING, POINTER, SCENES, scenes_of
from matrix_try import attempt
from matrix_world import ALIGNED, BREAK, BUFFER, HEAP_END, KINDS

from nexemu.personality import NEXOS, XV6

TRIALS = [
    pytest.param(personality, prototype, each, id=f"{personality.name} {each.title}")
    for personality in (NEXOS, XV6)
    for prototype in personality.calls
    for parameter in prototype.params
    if parameter.is_pointer
    for each in scenes_of(prototype, parameter)
]


@pytest.mark.parametrize(("personality", "prototype", "scene"), TRIALS)
def test_a_pointer_of_any_kind(gates, switches, tried, personality, prototype, scene):
    gate = gates(personality, **switches)
    for kind, address_of in (KINDS | ALIGNED).items():
        address = address_of(max(scene.size, 3))
        registers = [address if argument is POINTER else argument for argument in scene.arguments]
        tried()
        try:
            size = HEAP_END if kind in ALIGNED else BREAK
            attempt(gate, prototype, registers, partial(prepare, scene, address), scene.zombie, size)
        except BaseException as error:
            error.add_note(f"{scene.title} with {address:#x}: {kind}")
            raise


def prepare(scene, address, space):
    """Put what the call is to find into memory."""
    poke(space, BUFFER, OTHER_STRING.get(scene.title, b"a string\0"))
    if scene.through is not None:
        poke(space, scene.through, address.to_bytes(8, "little") + bytes(8))
    poke(space, address, scene.content)


def test_the_scenes_are_of_calls_that_exist():
    listed = {(row.name, param.name) for each in (NEXOS, XV6) for row in each.calls for param in row.params}
    assert {(each.call, each.parameter) for each in SCENES} <= listed


def test_the_matrix_is_as_large_as_it_should_be():
    """23 pointer parameters of NexOS, 13 of xv6, seven more scenes each, 56 kinds of address, 4 settings."""
    assert len(TRIALS) == 23 + 13 + 2 * 7
    assert len(TRIALS) * len(KINDS | ALIGNED) * 4 == 11_200
