"""A real program's reference string under every policy, OPT among them: how much could a policy gain?"""

from collections.abc import Mapping, Sequence
from typing import Final

from nexemu.evict import POLICIES, Setup
from nexemu.evict.replay import replay
from nexemu.lab.experiment import Steps
from nexemu.lab.report import Cell, Figure, Report, Table

FEWEST: Final = 2
"""Code and data take turns in a reference string, so with one frame every reference is a miss."""


def sizes_for(references: Sequence[int]) -> list[int]:
    """Numbers of frames that show the whole curve of ``references``: powers of two, and one for each page."""
    pages = len(set(references))
    powers = [1 << bit for bit in range(1, pages.bit_length())]
    return sorted({*(size for size in powers if size < pages), max(FEWEST, pages)})


def replay_all(references: Sequence[int], frames: Sequence[int], seed: int, steps: Steps) -> Report:
    """Each policy at each number of ``frames``."""
    misses = {
        policy: [replay(references, POLICIES[policy](Setup(n, references, seed)), n).misses for n in frames]
        for policy in steps("replaying", list(POLICIES))
    }
    pages = len(set(references))
    title = f"Misses by frames: {len(references):,} references to {pages:,} pages"
    rows: list[tuple[Cell, ...]] = [(policy, *misses[policy]) for policy in misses]
    return Report(
        "No policy misses less often than OPT, which knows the future; what lies between it and the best of "
        "the others is what a better guess could gain. With a frame for every page, each misses once.",
        [Table(title, ("policy", *(str(n) for n in frames)), rows)],
        figures=[Figure(title, "frames", "misses, %", frames, _rates(misses, len(references)), log_x=True)],
    )


def _rates(misses: Mapping[str, Sequence[int]], references: int) -> dict[str, list[float]]:
    return {policy: [100 * count / references for count in counts] for policy, counts in misses.items()}
