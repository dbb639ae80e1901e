"""The bare machine runs code from one ecall to the next, and its empty hook fills the TLB as asked."""

import pytest

from nexemu.bench.assembler import A0, A1, A7, T0, Assembler
from nexemu.machine.bare import BareMachine
from nexemu.mem.phys import PhysicalMemory
from nexemu.riscv import PGSIZE

RAM = 8 << 20


@pytest.fixture(params=[False, True], ids=["own fill", "empty fill"])
def empty_fill(request):
    return request.param


def machine_with(asm, empty_fill):
    ram = PhysicalMemory(RAM)
    ram.write(ram.base, asm.code)
    return BareMachine(ram, empty_fill), ram


def test_it_stops_at_each_ecall_and_goes_on_behind_it(empty_fill):
    asm = Assembler()
    asm.addi(A7, 0, 1)
    asm.ecall()
    asm.addi(A7, A7, 41)
    asm.ecall()
    machine, ram = machine_with(asm, empty_fill)
    machine.run(ram.base)
    assert (machine.read_register(A7), machine.pc) == (1, ram.base + 8)
    machine.run(machine.pc)
    assert (machine.read_register(A7), machine.pc) == (42, ram.base + 16)


def test_addresses_are_physical(empty_fill):
    asm = Assembler()
    asm.sd(A1, 8, A0)
    asm.ld(T0, 8, A0)
    asm.ecall()
    machine, ram = machine_with(asm, empty_fill)
    machine.set_registers({A0: ram.base + 5 * PGSIZE, A1: 0x1234})
    machine.run(ram.base)
    assert machine.read_register(T0) == 0x1234
    assert ram.read(ram.base + 5 * PGSIZE, 16) == bytes(8) + (0x1234).to_bytes(8, "little")


def test_a_flush_makes_the_next_access_miss(monkeypatch):
    misses = []

    def fill(uc, va, access, entry, data):
        misses.append(va)
        entry.paddr, entry.perms = va, 7
        return True

    monkeypatch.setattr("nexemu.machine.bare._fill", fill)
    asm = Assembler()
    asm.ld(T0, 0, A0)
    asm.ecall()
    machine, ram = machine_with(asm, empty_fill=True)
    data = ram.base + 3 * PGSIZE
    machine.set_registers({A0: data})
    for _ in range(2):
        machine.run(ram.base)
    assert misses == [ram.base, data]
    machine.flush_tlb()
    machine.run(ram.base)
    assert misses == [ram.base, data] * 2


def test_floating_point_does_not_trap(empty_fill):
    asm = Assembler()
    asm._words.append(0xF00002D3)  # fmv.w.x ft5, zero
    asm.addi(A7, 0, 7)
    asm.ecall()
    machine, ram = machine_with(asm, empty_fill)
    machine.run(ram.base)
    assert (machine.read_register(A7), machine.pc) == (7, ram.base + 12)
