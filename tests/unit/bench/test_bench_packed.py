"""The floor of a token runs a program that makes two system calls, from one written line to the next."""

import struct

import pytest

from nexemu.bench.assembler import A0, A1, A2, A7, S0, SP, T0, T1, Assembler
from nexemu.bench.packed import PackedLoop
from nexemu.riscv import PGSIZE

RAM = 4 << 20
WRITE, SBRK, EXIT = 1, 4, 3
MORE = 48


def elf(code):
    """An executable of one segment at address 0, which begins a page into the file."""
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 243, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, PGSIZE, 0, 0, len(code), len(code), PGSIZE)
    return (header + segment).ljust(PGSIZE, b"\0") + code


@pytest.fixture
def start(tmp_path):
    def start(asm):
        program = tmp_path / "loop"
        program.write_bytes(elf(asm.code))
        return PackedLoop(program, RAM - 1)

    return start


def call(asm, number, register, value):
    asm.addi(A7, 0, number)
    asm.addi(register, 0, value)
    asm.ecall()


def endless():
    """Ask for memory, remember where it is in s0, write five bytes, and all over again."""
    asm = Assembler()
    call(asm, SBRK, A0, MORE)
    asm.add(S0, A0, 0)
    call(asm, WRITE, A2, 5)
    asm.bne(SP, 0, 0)
    return asm


def test_a_sample_runs_to_the_next_line_and_answers_calls(start):
    loop = start(endless())
    for turn in range(3):
        assert loop.sample() > 0
        assert loop._machine.read_register(S0) == PGSIZE + turn * MORE  # the heap begins behind the image
        assert loop._machine.read_register(A0) == 5


def test_the_program_is_asked_for_tokens_without_end(start):
    asm = Assembler()
    asm.add(S0, A0, 0)
    asm.ld(T0, 8, A1)
    asm.ld(T1, 0, T0)
    call(asm, WRITE, A2, 5)
    loop = start(asm)
    loop.sample()
    assert loop._machine.read_register(S0) == 2  # argc
    assert loop._machine.read_register(T1).to_bytes(8, "little") == b"1000000\0"


def test_its_stack_and_argument_lie_in_whole_pages_of_ram(start):
    sp = start(endless())._machine.read_register(SP)
    assert sp == RAM - PGSIZE


def test_another_call_is_noticed(start):
    asm = Assembler()
    call(asm, EXIT, A0, 1)
    with pytest.raises(AssertionError, match="system call 3"):
        start(asm).sample()
