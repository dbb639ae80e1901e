"""The assembler agrees with a disassembler, and each loop does what its docstring says."""

import capstone
import pytest

from nexemu.bench import loops
from nexemu.bench.assembler import A0, A1, A2, A7, S0, SP, T0, T1, T2, Assembler
from nexemu.bench.rig import BareRig
from nexemu.riscv import PGSIZE

RAM = 8 << 20
GETPID, EXIT = 12, 3

INSTRUCTIONS = [
    (lambda asm: asm.add(T0, T1, T2), "add t0, t1, t2"),
    (lambda asm: asm.xor(A0, A1, A2), "xor a0, a1, a2"),
    (lambda asm: asm.addi(SP, SP, -2048), "addi sp, sp, -0x800"),
    (lambda asm: asm.addi(A7, SP, 2047), "addi a7, sp, 0x7ff"),
    (lambda asm: asm.slli(S0, T0, 63), "slli s0, t0, 0x3f"),
    (lambda asm: asm.ld(A7, -8, SP), "ld a7, -8(sp)"),
    (lambda asm: asm.ld(T2, 2040, A1), "ld t2, 0x7f8(a1)"),
    (lambda asm: asm.sd(A2, 40, S0), "sd a2, 0x28(s0)"),
    (lambda asm: asm.sd(A2, -40, S0), "sd a2, -0x28(s0)"),
    (lambda asm: asm.lui(T1, 0xFEDCB), "lui t1, 0xfedcb"),
    (lambda asm: asm.bne(A0, A1, 4094), "bne a0, a1, 0xffe"),
    (lambda asm: asm.bne(A0, A1, -4096), "bne a0, a1, -0x1000"),
    (lambda asm: asm.ecall(), "ecall"),
]


def disassemble(code):
    engine = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64)
    return [f"{name} {operands}".strip() for _, _, name, operands in engine.disasm_lite(code, 0)]


@pytest.mark.parametrize(("append", "text"), INSTRUCTIONS, ids=[text for _, text in INSTRUCTIONS])
def test_an_instruction_is_what_it_is_called(append, text):
    asm = Assembler()
    append(asm)
    assert disassemble(asm.code) == [text]


def test_a_branch_leads_to_where_it_was_told():
    asm = Assembler()
    asm.ecall()
    top = asm.here
    asm.add(T0, T0, T0)
    asm.bne(T0, 0, top)
    assert (top, disassemble(asm.code)[-1]) == (4, "bnez t0, -4")


def run(code, registers):
    rig = BareRig(code, RAM)
    rig.seconds({number: rig.data + value if number == A0 else value for number, value in registers.items()})
    return rig


def test_touch_stores_to_the_first_word_of_each_page():
    rig = run(loops.touch(), {A0: 0, A1: 3})
    pages = [rig.ram.read(rig.data + page * PGSIZE, PGSIZE) for page in range(4)]
    stored = [rig.data + page * PGSIZE for page in range(3)]
    assert [int.from_bytes(page[:8], "little") for page in pages] == [*stored, 0]
    assert not any(any(page[8:]) for page in pages)


def test_getpid_calls_as_often_as_asked_and_then_exits():
    rig = BareRig(loops.getpid(GETPID, EXIT), RAM)
    machine, calls = rig.machine, []
    machine.set_registers({S0: 3})
    machine.run(rig.ram.base)
    while not calls or calls[-1] != EXIT:
        calls.append(machine.read_register(A7))
        machine.run(rig.ram.base + loops.GETPID_RESUME)
    assert calls == [GETPID, GETPID, GETPID, EXIT]


def test_getpid_is_resumed_behind_its_ecall():
    rig = run(loops.getpid(GETPID, EXIT), {S0: 2})
    assert rig.machine.pc == rig.ram.base + loops.GETPID_RESUME


def test_alu_computes_what_its_instructions_say():
    t0 = t1 = 0
    for turn in (2, 1):
        for _ in range(loops.PER_TURN // 4):
            t0 += turn
            t1 = (t1 ^ t0) + (t0 << 7)
    machine = run(loops.alu(), {A1: 2}).machine
    assert (machine.read_register(T0), machine.read_register(T1)) == (t0, t1)


def test_load_ends_with_the_last_of_its_words():
    rig = BareRig(loops.load(), RAM)
    rig.ram.write(rig.data, b"".join(value.to_bytes(8, "little") for value in range(100, 110)))
    rig.seconds({A0: rig.data, A1: 5})
    assert rig.machine.read_register(T0) == 100 + loops.PER_TURN - 1
    assert rig.machine.read_register(A1) == 0
