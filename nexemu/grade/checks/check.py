"""What a check is: a scene on a testbed, what must be seen there, and where the contract says so.

A check plays one scene and looks at the machine. It is about one thing: whatever else a handler may
do wrong, as far as it can be told apart, is another check's business. So pages are touched by a
store where loads are not the subject, and memory is read from RAM where faults are not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from nexemu.grade.testbed.testbed import FRAMES, Testbed
from nexemu.param import NEXOS_LIMITS


@dataclass(frozen=True, slots=True)
class Check:
    """``scene`` raises Lost where an expectation is not met. ``hint`` names the part of the contract that
    is at stake, and gives nothing away. The machine has ``frames`` frames to hand out and room for
    ``nproc`` processes."""

    name: str
    scene: Callable[[Testbed], None]
    hint: str
    frames: int = FRAMES
    nproc: int = NEXOS_LIMITS.nproc

    @property
    def about(self) -> str:
        """The check in a sentence."""
        return " ".join((self.scene.__doc__ or "").split())
