"""Guest RAM: one mapping, seen as bytes, as words, and by its host address."""

import ctypes

import pytest

from nexemu.errors import OperatorError
from nexemu.mem.phys import PhysicalMemory
from nexemu.memlayout import KERNBASE

LEAST = 320 * 4096  # the kernel's 256 pages, and 64 to hand out


@pytest.fixture
def ram():
    return PhysicalMemory(LEAST)


def test_ram_begins_where_the_virt_board_has_it(ram):
    assert (ram.base, ram.size, ram.end) == (0x8000_0000, LEAST, 0x8000_0000 + LEAST)


def test_fresh_ram_is_zero(ram):
    assert not any(ram.bytes)


def test_bytes_and_words_are_the_same_memory_little_endian(ram):
    ram.write(KERNBASE + 16, bytes([1, 2, 3, 4, 5, 6, 7, 8]))
    assert ram.words[2] == 0x0807060504030201
    ram.words[3] = 0x1122334455667788
    assert ram.read(KERNBASE + 24, 8) == bytes.fromhex("8877665544332211")


def test_the_host_address_leads_to_the_same_bytes(ram):
    ram.write(ram.end - 4, b"tail")
    assert ctypes.string_at(ram.host_address() + LEAST - 4, 4) == b"tail"


def test_read_gives_a_copy(ram):
    copy = ram.read(KERNBASE, 4)
    ram.write(KERNBASE, b"abcd")
    assert copy == bytes(4)


@pytest.mark.parametrize("size", [0, -4096, 4096, LEAST - 4096, LEAST + 1, LEAST + 4095])
def test_a_bad_size_is_refused_with_the_least_one(size):
    with pytest.raises(OperatorError, match=rf"{size} bytes.*multiple of 4096.*{LEAST}"):
        PhysicalMemory(size)


@pytest.mark.parametrize("size", [1 << 60, 1 << 62, 1 << 70])
def test_more_than_the_host_has_is_refused(size):
    with pytest.raises(OperatorError, match="cannot give it"):
        PhysicalMemory(size)
