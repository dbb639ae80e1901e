"""Real processes against a model of plain dicts: every byte, every right, every frame."""

import pytest
from agent_orders import Orders
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from native import NativeHart

KINDS = [
    pytest.param({"counted": False}, id="free"),
    pytest.param({"counted": True}, id="counted"),
    pytest.param({"hart": NativeHart}, id="Unicorn's own MMU"),
]


def run(agent, tried, switches, kind, examples, steps):
    how = {"elf": agent, "tried": staticmethod(tried), **switches, **kind}
    Trial = type("Trial", (Orders,), how)  # noqa: N806 - a class
    how = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    run_state_machine_as_test(Trial, settings=how)


@pytest.mark.parametrize("kind", KINDS)
def test_processes_do_what_the_model_does(agent, tried, switches, kind):
    run(agent, tried, switches, kind, examples=25, steps=40)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_processes_do_what_the_model_does_for_long(agent, tried, switches, kind):
    run(agent, tried, switches, kind, examples=150, steps=80)
