"""Virtual time: it passes with what the machine does, never with the host's clock.

A system call costs TRAP_CYCLES, and so does any other trap, but a page fault that is resolved is
free. User code costs one cycle an instruction where instructions are counted, which is whenever
somebody waits for the hart or for a tick, and always where times are the point. When every process
sleeps, the clock jumps to the first one's wake-up. So the same run always takes the same time.
"""

from dataclasses import dataclass

from nexemu.param import CYCLES_PER_TICK


@dataclass(slots=True)
class Clock:
    """``cycles`` since boot, at TIMEBASE_HZ; the ``time`` CSR shows them."""

    cycles: int = 0

    @property
    def ticks(self) -> int:
        """Timer ticks of 0.1 s since boot: what uptime() returns."""
        return self.cycles // CYCLES_PER_TICK

    def advance(self, cycles: int) -> None:
        """``cycles`` have passed."""
        self.cycles += cycles

    def jump(self, to: int) -> None:
        """Nothing happens until ``to``; a moment that has passed already changes nothing."""
        self.cycles = max(self.cycles, to)
