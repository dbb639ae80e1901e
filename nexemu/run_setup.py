"""What the words after ``nexemu run`` mean: sizes, names of policies, what init is to do.

Every mistake that a person can make there ends here, as an OperatorError that says what to do.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nexemu.errors import OperatorError
from nexemu.evict import POLICIES as EVICTORS
from nexemu.evict import Setup as EvictorSetup
from nexemu.memlayout import KERNEL_PAGES
from nexemu.model import cache
from nexemu.param import MAXARG, RAM_BYTES, RAM_BYTES_WITH_MODEL
from nexemu.personality import NEXOS, PERSONALITIES, XV6, XV6_ONE_ARGUMENT_SBRK, Personality
from nexemu.policy import Evictor, Scheduler
from nexemu.riscv import PGSIZE
from nexemu.sched import POLICIES as SCHEDULERS
from nexemu.sched import Setup as SchedulerSetup
from nexemu.session import log

UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SIZE: Final = re.compile(r"(\d+)([KMG]?)", re.IGNORECASE)

LIVE_SCHEDULERS: Final = [name for name, policy in SCHEDULERS.items() if policy.online]
LIVE_EVICTORS: Final = [name for name, policy in EVICTORS.items() if policy.online]
"""The policies that need not know the future."""

BOOST_QUANTA: Final = 100
"""Quanta after which MLFQ lifts everybody to its top level again."""

MOST_SWAP: Final = 64 << 30
"""Bytes of swap: each page of it costs the host an entry in its books."""

ARGUMENT_ROOM: Final = 3500
"""Bytes of arguments that leave a guest some of its one stack page."""


def parse_size(option: str, text: str) -> int:
    """``128M``, given to ``option``, in bytes. Raises OperatorError."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise OperatorError(f"{option} {text}: give a size such as 128M or 1G")
    return int(found[1]) * UNITS[found[2].upper()]


def swap_size(text: str | None) -> int:
    """Bytes of the swap area that ``--swap`` asks for; 0 without it. Raises OperatorError."""
    size = 0 if text is None else parse_size("--swap", text)
    if 0 < size < PGSIZE or size > MOST_SWAP:
        raise OperatorError(f"--swap {text}: give at least one page (4K), and at most {MOST_SWAP >> 30}G")
    return size


def init_arguments(program: Sequence[str], shell_command: str | None, longest: int) -> list[bytes]:
    """What init is started with: nothing for a shell, or what to run in its place. No argument may have more
    than ``longest`` bytes; the shell puts a line together again that comes in pieces."""
    if program and shell_command is not None:
        raise OperatorError("give either a program or --shell-command, not both")
    if shell_command is not None:
        line = os.fsencode(shell_command)
        pieces = [line[at : at + longest] for at in range(0, len(line), longest)]
        return _fitting([b"init", b"-c", *(pieces or [b""])])
    arguments = [os.fsencode(argument) for argument in program]
    for argument in arguments:
        if len(argument) > longest:
            shown = argument[:20].decode(errors="replace")
            raise OperatorError(f"argument {shown!r}... has {len(argument)} bytes; a guest takes {longest}")
    return _fitting([b"init", b"--", *arguments]) if program else []


def _fitting(argv: list[bytes]) -> list[bytes]:
    """``argv``, unless it is more than exec takes: MAXARG strings, together on the one stack page."""
    if len(argv) >= MAXARG or sum(len(argument) + 16 for argument in argv) > ARGUMENT_ROOM:
        raise OperatorError(
            f"the command line is too long: {MAXARG - 3} words, {ARGUMENT_ROOM} bytes at most"
        )
    return argv


def personality_called(name: str, one_argument_sbrk: bool) -> Personality:
    """The personality that ``--abi`` and ``--one-argument-sbrk`` mean. Raises OperatorError."""
    if name not in PERSONALITIES:
        raise OperatorError(f"--abi {name}: there are {', '.join(PERSONALITIES)}")
    personality = PERSONALITIES[name]
    if not one_argument_sbrk:
        return personality
    if personality is not XV6:
        raise OperatorError("--one-argument-sbrk goes with --abi xv6")
    return XV6_ONE_ARGUMENT_SBRK


def check_shell(shell_command: str | None, image: Path | None) -> None:
    """``-c`` is for the package's own shell: NexOS's and xv6's would start, ignore the line and end with
    status 0. Raises OperatorError where ``image`` has another shell."""
    if shell_command is not None and image is not None and (image / "sh").exists():
        raise OperatorError(
            f"--shell-command: {image} has a sh of its own, which takes none; give a program after --"
        )


def images_for(image: Path | None, personality: Personality) -> list[Path]:
    """The folder asked for, or the model's image where one is ready."""
    if image is not None:
        return [image]
    if personality is not NEXOS:
        return []
    ready = cache.ready(cache.known(os.environ.get("MODEL") or "auto"))
    if ready == cache.image_folder(cache.SYNTHETIC):
        log("the model's weights are noise of the right size: page counts are true, its text is not")
    return [ready] if ready is not None else []


def memory_for(mem: str | None, frames: int | None, folders: Sequence[Path]) -> int:
    """Bytes of RAM: as asked for, in bytes or in frames for processes; else by what the image needs."""
    if mem is not None and frames is not None:
        raise OperatorError("give either --mem or --frames, not both")
    if frames is not None:
        return (KERNEL_PAGES + frames) * PGSIZE
    if mem is not None:
        return parse_size("--mem", mem)
    holds_a_model = any((folder / "CFG.BIN").exists() for folder in folders)
    return RAM_BYTES_WITH_MODEL if holds_a_model else RAM_BYTES


def scheduler_called(name: str, quantum: int) -> Scheduler:
    """The scheduling policy ``name``. Raises OperatorError."""
    if name not in LIVE_SCHEDULERS:
        raise OperatorError(f"--sched {name}: in a running machine there are {', '.join(LIVE_SCHEDULERS)}")
    return SCHEDULERS[name](SchedulerSetup(quantum=quantum, boost=BOOST_QUANTA * quantum))


def evictor_called(name: str | None, swap: int, memory: int) -> Evictor:
    """The page replacement policy ``name``, CLOCK for None, for ``memory`` bytes of RAM and ``swap`` bytes
    of swap area. Raises OperatorError."""
    if name is not None and not swap:
        raise OperatorError(f"--evict {name} goes with --swap: without it no page is evicted")
    if name is not None and name not in LIVE_EVICTORS:
        raise OperatorError(f"--evict {name}: in a running machine there are {', '.join(LIVE_EVICTORS)}")
    return EVICTORS[name or "clock"](EvictorSetup(memory // PGSIZE - KERNEL_PAGES))
