"""Virtual time: ABI.md, 1 tick = 0.1 s = 1,000,000 cycles at 10 MHz."""

from nexemu.param import TIMEBASE_HZ
from nexemu.proc.clock import Clock


def test_a_tick_is_a_million_cycles():
    assert TIMEBASE_HZ == 10_000_000
    clock = Clock()
    clock.advance(999_999)
    assert clock.ticks == 0
    clock.advance(1)
    assert (clock.ticks, clock.cycles) == (1, 1_000_000)


def test_the_clock_jumps_forward_only():
    clock = Clock(500)
    clock.jump(2_000_000)
    assert clock.ticks == 2
    clock.jump(100)
    assert clock.cycles == 2_000_000
