"""From registers to handlers and back: ABI.md section 1."""

import pytest
from support import DATA, run_code

from nexemu import abi
from nexemu.events import Syscall
from nexemu.trap.syscall import int32, uint64

MINUS_ONE = (1 << 64) - 1


@pytest.fixture
def execute(assemble):
    """Run some lines, then exit with a0."""
    return lambda text, **how: run_code(assemble(f"{text}; li a7, 3; ecall"), **how)


@pytest.mark.parametrize(
    ("register", "value"),
    [
        (0, 0),
        (1, 1),
        (0x7FFF_FFFF, 0x7FFF_FFFF),
        (0x8000_0000, -(1 << 31)),
        (0xFFFF_FFFF, -1),
        (1 << 32, 0),
        ((1 << 32) + 5, 5),
        (0x1234_5678_FFFF_FFFE, -2),
        (MINUS_ONE, -1),
    ],
)
def test_an_int_is_the_low_32_bits_with_their_sign(register, value):
    assert int32(register) == value
    assert uint64(register) == register


NAMES = """
    write yield exit sbrk fork wait exec read close dup open getpid sleep uptime kill pipe fstat chdir mkdir
    unlink link mmap munmap ai_call ai_submit ai_wait ai_query memstat
"""


def test_the_numbers_are_those_of_the_abi():
    table = {row.number: row.name for row in abi.NEXOS if row.number < 100}
    assert table == dict(enumerate(NAMES.split(), start=1))


def test_the_answer_is_in_a0_behind_the_ecall(execute):
    assert execute("li a0, 99; li a7, 12; ecall").status == 3


def test_the_number_is_read_as_an_int(execute):
    run = execute("li a7, 1; slli a7, a7, 32; addi a7, a7, 12; ecall")
    assert run.status == 3


@pytest.mark.parametrize("number", [0, 29, 30, 99, 101, -1, -12, 0x7FFF_FFFF])
def test_an_unknown_number_gives_minus_one_and_a_line_for_the_host(execute, number):
    run = execute(f"li a0, 5; li a7, {number}; ecall")
    assert run.status == -1
    assert run.log == [f"pid 3 init: unknown system call {number}"]
    assert run.text == ""


def test_an_int_argument_ignores_the_upper_half(execute):
    """exit(2^32 + 7), and sbrk(2^32 + 100) that grows by 100."""
    assert execute("li a0, 1; slli a0, a0, 32; addi a0, a0, 7").status == 7
    grow = "li a0, 1; slli a0, a0, 32; addi a0, a0, 100; li a7, 4; ecall; mv s0, a0"
    run = execute(f"{grow}; li a0, 0; li a7, 4; ecall; sub a0, a0, s0")
    assert run.status == 100


@pytest.mark.parametrize("status", [0, 1, 255, 256, 747, -1, -2, 0x7FFF_FFFF, -0x8000_0000])
def test_all_32_bits_of_an_exit_status_arrive(execute, status):
    assert execute(f"li a0, {status}").status == status


@pytest.mark.parametrize("high", [1 << 32, 1 << 38, 1 << 39, 1 << 63])
def test_a_pointer_is_all_64_bits(execute, high):
    """write() from a good address with one more bit set must fail, not read the good one."""
    run = execute(f"li a1, {high}; li t0, {DATA}; add a1, a1, t0; li a0, 1; li a2, 1; li a7, 1; ecall")
    assert run.status == -1
    assert run.text == ""


@pytest.mark.parametrize(("call", "answer"), [("li a7, 12", 3), ("li a7, 99", MINUS_ONE), ("li a7, 2", 0)])
def test_every_other_register_survives(execute, call, answer):
    fill = "; ".join(f"li x{number}, {number * 0x0101_0101_0101}" for number in range(1, 32) if number != 17)
    check = "; ".join(
        f"li a0, {number * 0x0101_0101_0101}; bne a0, x{number}, wrong"
        for number in range(1, 32)
        if number not in (10, 17)
    )
    right = f"li a7, {answer}; bne a0, a7, wrong; {check}"
    run = execute(f"{fill}; {call}; ecall; {right}; li a0, 1; j done; wrong: li a0, 2; done: nop")
    assert run.status == 1


@pytest.mark.parametrize("number", [24, 25, 26, 27])
def test_there_is_no_ai_service(execute, number):
    assert execute(f"li a0, 0; li a1, 1; li a7, {number}; ecall").status == -1


def test_each_call_is_reported_with_its_arguments_as_the_kernel_read_them(execute):
    run = execute("li a0, -1; li a7, 9; ecall; li a0, 16; li a7, 4; ecall; li a7, 77; ecall; li a0, 0")
    top = DATA + 3 * 4096
    assert run.events.of(Syscall) == [
        Syscall(3, "close", (-1,), -1),
        Syscall(3, "sbrk", (16,), top),
        Syscall(3, "unknown 77", (), -1),
    ]
