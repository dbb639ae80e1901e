"""The loop of a whole machine: turns, time, waiting for ever, and damage that must stop it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from support import DATA, MIB, Machine, Segment, elf_file, finish, run_code

from nexemu.errors import KernelPanic, OperatorError
from nexemu.events import Exit, Switch, Syscall
from nexemu.mem.builtin import BUILTIN
from nexemu.param import QUANTUM, TRAP_CYCLES
from nexemu.riscv import PTE_A, PTE_R, PTE_U, PTE_V
from nexemu.sched import POLICIES

EXIT = "li a7, 3; ecall"


@pytest.fixture
def execute(assemble):
    return lambda text, **how: run_code(assemble(text), **how)


# ---- turns ------------------------------------------------------------------------------------

TWO_LOOPS = f"""
    li a7, 5
    ecall
    li s0, 400000
loop: addi s0, s0, -1
    bnez s0, loop
    beqz a0, end
    li a0, 0
    li a7, 6
    ecall
    li a0, 9
end: {EXIT}
"""


def test_two_that_compute_take_turns_of_one_quantum(execute):
    run = execute(TWO_LOOPS)
    assert run.status == 9
    turns = run.events.of(Switch)
    assert [turn.after for turn in turns[:8]] == [3, 4] * 4
    between = {later.cycles - earlier.cycles for earlier, later in pairwise(turns[1:10])}
    assert between == {QUANTUM + TRAP_CYCLES}


@pytest.mark.parametrize("quantum", [1, 7, 1000, 10**9])
def test_the_result_does_not_depend_on_the_quantum(execute, quantum):
    short = TWO_LOOPS.replace("400000", "300")
    assert execute(short, quantum=quantum).status == 9


@pytest.mark.parametrize("sched", [name for name, policy in POLICIES.items() if policy.online])
def test_every_policy_lets_everybody_finish(execute, sched):
    assert execute(TWO_LOOPS, sched=sched, quantum=5000).status == 9


def test_whoever_computes_alone_is_not_interrupted(execute):
    run = execute(f"li s0, 400000; loop: addi s0, s0, -1; bnez s0, loop; li a0, 1; {EXIT}")
    assert (run.status, len(run.events.of(Switch))) == (1, 1)


def test_yield_lets_the_other_run(execute):
    """The child is first to end although the parent was first to run."""
    run = execute(
        f"li a7, 5; ecall; beqz a0, end; li a7, 2; ecall; li a0, 0; li a7, 6; ecall; li a0, 5; end: {EXIT}"
    )
    assert [event.pid for event in run.events.of(Exit)] == [4, 3]


# ---- time -------------------------------------------------------------------------------------


def test_a_long_sleep_takes_virtual_time_only(execute):
    run = execute(f"li a0, 1000000; li a7, 13; ecall; li a7, 14; ecall; {EXIT}")
    assert run.status == 1_000_000


def test_sleepers_wake_in_the_order_of_their_moments(execute):
    """The child sleeps 3 ticks, the parent 7; each exits with uptime."""
    text = f"""
        li a7, 5
        ecall
        li s0, 3
        beqz a0, go
        li s0, 7
    go: mv a0, s0
        li a7, 13
        ecall
        li a7, 14
        ecall
        li t0, 7
        bne s0, t0, end
        mv s1, a0
        li a0, 0
        li a7, 6
        ecall
        mv a0, s1
    end: {EXIT}
    """
    run = execute(text)
    assert [(event.pid, event.status) for event in run.events.of(Exit)] == [(4, 3), (3, 7)]


# ---- waiting for ever ---------------------------------------------------------------------------


def test_a_machine_in_which_everybody_waits_halts_and_says_so(execute):
    """A read from a pipe whose only writer is the reader itself."""
    pipe = f"li s0, {DATA}; mv a0, s0; li a7, 16; ecall"
    run = execute(f"{pipe}; lw a0, 0(s0); mv a1, s0; li a2, 1; li a7, 8; ecall; {EXIT}", check=False)
    assert run.status == -1
    assert run.log == ["every process waits for another one; the machine halts"]


# ---- booting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"\x7fELF", elf_file(Segment(8, b"x")), b"#!/bin/sh"])
def test_what_is_no_program_cannot_be_booted(content):
    with pytest.raises(OperatorError, match="cannot boot from init"):
        Machine(b"").build().kernel.boot([], content)


def test_a_machine_too_small_for_its_first_program_says_so():
    big = elf_file(Segment(0, b"x", memsz=4 * MIB))
    with pytest.raises(OperatorError, match=r"cannot boot from init.*frame"):
        Machine(b"").build(memory=(256 + 64) * 4096).kernel.boot([], big)


def test_init_gets_its_arguments_and_the_console(assemble):
    """It exits with argc, after writing the first letter of argv[1]."""
    code = assemble(f"mv s0, a0; ld a1, 8(a1); li a0, 1; li a2, 1; li a7, 1; ecall; mv a0, s0; {EXIT}")
    run = Machine(b"").build()
    run.kernel.boot([b"init", b"word"], elf_file(Segment(0, code, flags=5)))
    finish(run)
    assert (run.status, run.text) == (2, "w")


def test_two_machines_run_side_by_side(assemble):
    code = assemble(f"li a0, 1; li a7, 13; ecall; li a7, 12; ecall; {EXIT}")
    runs = [Machine(b"").build(lazy=lazy) for lazy in (False, True)]
    for run in runs:
        run.kernel.boot([], elf_file(Segment(0, code, flags=5)))
    for run in runs:
        finish(run)
    assert [run.status for run in runs] == [3, 3]
    assert runs[0].events.events == runs[1].events.events


# ---- damage and other people's handlers ---------------------------------------------------------


def test_an_audited_machine_stops_at_the_trap_that_did_the_damage(assemble):
    def damage(event):
        if isinstance(event, Syscall) and event.name == "getpid":
            kernel.frames.incref(kernel.procs.trampoline)

    run = Machine(b"").build(audit=True, emit=damage)
    kernel = run.kernel
    code = assemble(f"li a7, 14; ecall; li a7, 12; ecall; li a7, 14; ecall; {EXIT}")
    kernel.boot([], elf_file(Segment(0, code, flags=5)))
    with pytest.raises(KernelPanic, match="has count 3, 2 hold it"):
        kernel.run()
    assert [event.name for event in run.events.of(Syscall)] == ["uptime", "getpid"]


STORE = f"li a0, 4096; li a7, 4; ecall; sb zero, 0(a0); {EXIT}"


def handled_by(assemble, **functions):
    run = Machine(b"").build(handler=replace(BUILTIN, **functions))
    run.kernel.boot([], elf_file(Segment(0, assemble(STORE), flags=5)))
    run.kernel.run()


def test_a_handlers_own_error_is_shown(assemble):
    def divide(*_):
        return 1 // 0

    with pytest.raises(ZeroDivisionError):
        handled_by(assemble, page_fault=divide)


@pytest.mark.parametrize("answer", [0, PTE_V | PTE_R | PTE_U | PTE_A])
def test_a_handler_that_handled_nothing_stops_the_machine_and_does_not_hang_it(assemble, answer):
    with pytest.raises(KernelPanic, match="page fault: handled WRITE at 0x"):
        handled_by(assemble, page_fault=lambda *_: answer)


# ---- code that is written -----------------------------------------------------------------------


@pytest.mark.parametrize("cow", [False, True])
def test_a_child_that_rewrites_its_code_runs_the_new_and_its_parent_the_old(assemble, cow):
    """One writable and executable segment, as forktest of xv6 is linked. The child has run the old code
    itself before it writes: the page it writes to is shared, or a copy, and its translation is old."""
    new = int.from_bytes(assemble("li a0, 2"), "little")
    text = f"""
        j    start
    answer: li a0, 1
        ret
    start: jal answer
        li   a7, 5
        ecall
        bnez a0, parent
        jal  answer
        li   t0, {new}
        sw   t0, 4(zero)
        fence.i
        jal  answer
        {EXIT}
    parent: addi a0, zero, 2000
        li   a7, 6
        ecall
        lw   s0, 2000(zero)
        jal  answer
        slli s0, s0, 4
        add  a0, a0, s0
        {EXIT}
    """
    run = Machine(b"").build(cow=cow, audit=True)
    run.kernel.boot([], elf_file(Segment(0, assemble(text).ljust(2100, b"\0"), flags=7)))
    finish(run)
    assert run.status == 2 * 16 + 1
