"""The frames that pipes occupy.

A pipe's bytes are kept by the file room; the frame that the original kernel spends on it is
taken here, so that pipes cost physical memory and run out with it.
"""

from collections.abc import Callable

from nexemu.mem.kalloc import KERNEL, FrameAllocator
from nexemu.riscv import PA


class PipeFrames:
    """``held``: one frame for each pipe that is open."""

    __slots__ = ("held", "_frames")

    def __init__(self, frames: FrameAllocator) -> None:
        self._frames = frames
        self.held: set[PA] = set()

    def take(self) -> Callable[[], None]:
        """A frame for a new pipe; the function returned gives it back. Raises OutOfMemory."""
        frame = self._frames.kalloc(KERNEL)
        self.held.add(frame)

        def release() -> None:
            self.held.remove(frame)
            self._frames.kfree(frame)

        return release
