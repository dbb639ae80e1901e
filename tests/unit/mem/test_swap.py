"""The swap area: slots, how many refer to each, and a file that nobody else sees."""

import os
import resource
from pathlib import Path

import pytest

from nexemu.errors import KernelPanic, OperatorError, OutOfMemory
from nexemu.mem.swap import SwapArea
from nexemu.riscv import PGSIZE


def page(byte):
    return bytes([byte]) * PGSIZE


def test_each_slot_keeps_its_page():
    swap = SwapArea(3 * PGSIZE)
    slots = [swap.store(page(byte)) for byte in (1, 2, 3)]
    assert sorted(slots) == [0, 1, 2]
    assert [swap.read(slot) for slot in slots] == [page(1), page(2), page(3)]
    assert (swap.used, swap.full) == (3, True)
    with pytest.raises(OutOfMemory, match="full"):
        swap.store(page(4))
    assert [swap.read(slot) for slot in slots] == [page(1), page(2), page(3)]


def test_the_last_one_who_refers_to_a_slot_frees_it():
    swap = SwapArea(2 * PGSIZE)
    slot = swap.store(page(1))
    swap.hold(slot)
    swap.drop(slot)
    assert swap.used == 1
    swap.drop(slot)
    assert swap.used == 0
    assert swap.store(page(2)) == slot
    assert swap.read(slot) == page(2)


def test_a_free_slot_can_be_neither_held_nor_dropped():
    swap = SwapArea(2 * PGSIZE)
    with pytest.raises(KernelPanic, match="swap: slot 1 is free"):
        swap.hold(1)
    with pytest.raises(KernelPanic, match="swap: slot 1 is free"):
        swap.drop(1)


def test_the_audit_compares_counts_with_holders():
    swap = SwapArea(4 * PGSIZE)
    first, second = swap.store(page(1)), swap.store(page(2))
    swap.hold(second)
    swap.audit([second, first, second])
    for holders in (
        [first, second],
        [first, first, second, second],
        [second, second],
        [first, second, second, 3],
    ):
        with pytest.raises(KernelPanic, match="audit: swap slot"):
            swap.audit(holders)


def test_an_area_of_less_than_a_page_has_no_slot():
    swap = SwapArea(PGSIZE - 1)
    assert swap.full
    with pytest.raises(OutOfMemory):
        swap.store(page(1))


def test_the_file_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    swap = SwapArea(PGSIZE)
    swap.store(page(1))
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_closed_with_the_area():
    before = len(os.listdir("/dev/fd"))
    swap = SwapArea(PGSIZE)
    assert len(os.listdir("/dev/fd")) == before + 1
    del swap
    assert len(os.listdir("/dev/fd")) == before


def test_no_room_for_a_file_is_the_operators_business(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(Path("/nonexistent")))
    with pytest.raises(OperatorError, match="no room for a swap file in /nonexistent"):
        SwapArea(PGSIZE)


def test_a_host_without_room_is_like_a_full_area():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    swap = SwapArea(4 * PGSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (PGSIZE + 100, hard))  # Python ignores SIGXFSZ
    try:
        slot = swap.store(page(1))
        for _ in range(2):  # one write is cut short, or none is done at all
            with pytest.raises(OutOfMemory, match="the swap file cannot grow"):
                swap.store(page(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    swap.audit([slot])
    assert swap.used == 1
