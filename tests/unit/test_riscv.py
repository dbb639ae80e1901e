"""The arithmetic of pages and entries, by the privileged specification's drawings."""

import pytest

from nexemu.memlayout import TRAMPOLINE, TRAPFRAME
from nexemu.riscv import (
    MAXVA,
    PAGE_FAULT_OF,
    PTE_COW,
    Access,
    Cause,
    flags_text,
    pa2pte,
    pgrounddown,
    pgroundup,
    pte2pa,
    px,
)


@pytest.mark.parametrize(
    ("address", "up", "down"),
    [
        (0, 0, 0),
        (1, 4096, 0),
        (4095, 4096, 0),
        (4096, 4096, 4096),
        (4097, 8192, 4096),
        (1 << 38, 1 << 38, 1 << 38),
    ],
)
def test_rounding_to_pages(address, up, down):
    assert (pgroundup(address), pgrounddown(address)) == (up, down)


def test_an_address_is_three_indices_of_9_bits_and_an_offset_of_12():
    va = 0b0_1010_1010 << 30 | 0b1_0000_0001 << 21 | 0b0_1111_0000 << 12 | 0xABC
    assert [px(level, va) for level in (2, 1, 0)] == [0b0_1010_1010, 0b1_0000_0001, 0b0_1111_0000]


def test_an_entry_holds_the_frame_number_from_bit_10():
    assert pa2pte(0x8765_4000) == 0x8_7654 << 10
    assert pte2pa(pa2pte(0x8765_4000) | 0x3FF) == 0x8765_4000


def test_the_top_of_user_space():
    assert (MAXVA, TRAMPOLINE, TRAPFRAME) == (1 << 38, (1 << 38) - 4096, 0x3F_FFFF_E000)


def test_causes_are_the_specifications():
    assert [PAGE_FAULT_OF[access] for access in (Access.FETCH, Access.READ, Access.WRITE)] == [12, 13, 15]
    assert (Cause.ILLEGAL_INSTRUCTION, Cause.BREAKPOINT, Cause.USER_ECALL) == (2, 3, 8)
    assert Cause.TIMER == (1 << 63) + 5


@pytest.mark.parametrize(
    ("pte", "text"),
    [
        (0, "- - - - - - - -"),
        (0xFF, "V R W X U G A D"),
        (0b1101_0111, "V R W - U - A D"),
        (0b0001_0011 | PTE_COW, "V R - - U - - - COW"),
    ],
)
def test_flags_for_people(pte, text):
    assert flags_text(pte) == text
