import pytest
from serve_support import COSTS, MEMORIES

from nexemu.sched.fcfs import Fcfs
from nexemu.serve.engine import Engine


@pytest.fixture
def engine():
    """A function that builds an engine on such a memory."""

    def build(requests, memory="paged", slots=64, page=4, scheduler=None, batch=None):
        made = MEMORIES[memory](slots, page) if isinstance(memory, str) else memory
        return Engine(requests, made, scheduler or Fcfs(), COSTS, batch)

    return build
