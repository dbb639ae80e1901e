"""Scheduling policies, by the name under which they are asked for."""

from collections.abc import Callable, Mapping
from typing import Final

from nexemu.policy import Scheduler
from nexemu.sched.round_robin import RoundRobin

POLICIES: Final[Mapping[str, Callable[[], Scheduler]]] = {"round-robin": RoundRobin}
