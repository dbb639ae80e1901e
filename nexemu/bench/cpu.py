"""Probes of plain code: what the hart adds to Unicorn where no kernel is needed, and what a system
call costs."""

from typing import Final

from nexemu.bench import loops
from nexemu.bench.assembler import A0, A1, S0
from nexemu.bench.probe import Floor, Probe, Setting, cpu_seconds
from nexemu.bench.rig import HEAP, BareRig, Rig
from nexemu.kernel import Options

RAM: Final = 16 << 20
TURNS: Final = 500_000
QUICK_TURNS: Final = 1_000
CALLS: Final = 2_000
QUICK_CALLS: Final = 50
GETPID, EXIT = 12, 3
"""Numbers of abi.NEXOS."""


def alu(setting: Setting) -> Probe:
    """Additions, exclusive-ors and shifts in a loop."""
    return _loop("ALU instruction", loops.alu(), setting)


def load(setting: Setting) -> Probe:
    """Loads from one page, in a loop."""
    return _loop("load", loops.load(), setting)


def _loop(title: str, code: bytes, setting: Setting) -> Probe:
    turns = QUICK_TURNS if setting.quick else TURNS
    rig, bare = Rig(code, Options(memory=RAM)), BareRig(code, RAM)
    rig.grow(1)
    count = turns * loops.PER_TURN

    def sample() -> float:
        return rig.seconds(rig.proc, {A0: HEAP, A1: turns}) / count

    def floor() -> float:
        return bare.seconds({A0: bare.data, A1: turns}) / count

    return Probe(title, sample, (Floor("bare Unicorn", floor),))


def syscall(setting: Setting) -> Probe:
    """getpid() in a loop, through the whole kernel; below it, an ecall that stops Unicorn and goes on."""
    calls = QUICK_CALLS if setting.quick else CALLS
    code = loops.getpid(GETPID, EXIT)
    bare = BareRig(code, RAM)
    resume = bare.ram.base + loops.GETPID_RESUME

    def sample() -> float:
        rig = Rig(code, Options(memory=RAM))
        rig.kernel.hart.write_register(rig.proc.context, S0, calls)
        return cpu_seconds(rig.kernel.run) / calls

    def floor() -> float:
        bare.machine.set_registers({S0: calls})
        bare.machine.run(bare.ram.base)
        return cpu_seconds(go_on) / calls

    def go_on() -> None:
        for _ in range(calls):
            bare.machine.run(resume)

    return Probe("system call (getpid)", sample, (Floor("ecall, stop and go on", floor),))
