"""Personalities: which teaching kernel's user programs the machine runs.

A personality is a table of calls, a set of limits, and the few real differences of behaviour,
each a named field. There is one kernel behind all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from nexemu import abi
from nexemu.errors import OperatorError
from nexemu.param import NEXOS_LIMITS, XV6_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class Personality:
    """Where the two kernels differ, beyond their tables and limits."""

    name: str
    calls: tuple[abi.Prototype, ...]
    limits: Limits

    always_lazy: Annotated[
        bool,
        "pages below the break appear at their first touch even where growing was eager:"
        " sbrk's second argument, not the machine's switch, says which growth is lazy",
    ]
    shrink_below_zero_ignored: Annotated[
        bool, "sbrk by less than minus the size changes nothing and returns the break, instead of -1"
    ]
    short_counts: Annotated[
        bool, "a pipe or the console that meets a bad address returns how much went well, instead of -1"
    ]
    sleep_below_zero_returns: Annotated[bool, "a negative number of ticks is none, instead of -1"]
    segments_fill_gaps: Annotated[
        bool,
        "exec extends the image segment by segment: segments may meet in a page, gaps between them are"
        " mapped, and their place in the file need not be aligned; else each stands alone, page aligned",
    ]
    console_has_no_inode: Annotated[
        bool, "the path `console` opens the console by itself; else a device made by mknod does"
    ]
    init_gets_console: Annotated[
        bool, "the first process has descriptors 0, 1 and 2; else it opens them itself"
    ]
    init_argument: Annotated[tuple[bytes, ...], "what the image's own init is started with"]


NEXOS: Final = Personality(
    name="nexos",
    calls=abi.NEXOS,
    limits=NEXOS_LIMITS,
    always_lazy=False,
    shrink_below_zero_ignored=False,
    short_counts=False,
    sleep_below_zero_returns=False,
    segments_fill_gaps=False,
    console_has_no_inode=True,
    init_gets_console=True,
    init_argument=(),
)

XV6: Final = Personality(
    name="xv6",
    calls=abi.XV6,
    limits=XV6_LIMITS,
    always_lazy=True,
    shrink_below_zero_ignored=True,
    short_counts=True,
    sleep_below_zero_returns=True,
    segments_fill_gaps=True,
    console_has_no_inode=False,
    init_gets_console=False,
    init_argument=(b"/init",),
)

XV6_ONE_ARGUMENT_SBRK: Final = replace(XV6, calls=abi.XV6_ONE_ARGUMENT_SBRK, always_lazy=False)
"""xv6 until 2024: growth is lazy or eager as the switch says."""

PERSONALITIES: Final[Mapping[str, Personality]] = {each.name: each for each in (NEXOS, XV6)}
"""By the name that ``--abi`` takes."""

GUESTS: Final = Path(__file__).parent / "guests"
"""The compiled guest programs, as the package carries them: a folder for each personality."""


def guests_of(personality: Personality, program: str = "init") -> Path:
    """The folder of the package's own guests. Raises OperatorError when ``program`` is not among them."""
    folder = GUESTS / personality.name
    if not (folder / program).is_file():
        raise OperatorError(f"no guest programs in {folder}: run `make guests`")
    return folder
