"""The dispatcher: when it asks the policy, and what for."""

from support import DATA, Segment, Typed, elf_file

from nexemu.abi import NEXOS
from nexemu.kernel import Kernel, Options
from nexemu.param import PIPESIZE
from nexemu.sched.fcfs import Fcfs

CALLS = {row.name: row.number for row in NEXOS}


class Asked(Fcfs):
    """First come, first served; notes of whom it was asked whether somebody else should run instead."""

    def __init__(self):
        super().__init__()
        self.preempted = []

    def preempts(self, pid):
        self.preempted.append(pid)
        return False


def test_the_policy_is_asked_when_a_call_that_had_waited_makes_somebody_ready(assemble):
    """A read that waited makes room for a writer that waits: as urgent as if it had not waited itself."""
    calls = f"""
        li s1, {DATA}; mv a0, s1; li a7, {CALLS["pipe"]}; ecall
        li a7, {CALLS["fork"]}; ecall; beqz a0, child
        lw a0, 0(s1); addi a1, s1, 16; li a2, {PIPESIZE}; li a7, {CALLS["read"]}; ecall
        li a0, 0; li a7, {CALLS["wait"]}; ecall
        li a0, 0; li a7, {CALLS["exit"]}; ecall
    child:
        lw a0, 4(s1); addi a1, s1, 16; li a2, {PIPESIZE + 1}; li a7, {CALLS["write"]}; ecall
        li a0, 0; li a7, {CALLS["exit"]}; ecall
    """
    policy = Asked()
    kernel = Kernel(Options(memory=16 << 20), policy, Typed(), bytearray().extend, [].append)
    code = Segment(0, assemble(calls), flags=5)
    parent = kernel.boot([], elf_file(code, Segment(DATA, memsz=4096, flags=6)))
    assert kernel.run() == 0
    assert policy.preempted == [parent.pid, parent.pid], "after fork, and after the read"
