"""Page tables in guest RAM: their bytes are what the privileged specification says."""

import pytest
import spec_walk
from hypothesis import given
from hypothesis import strategies as st
from support import Memory

from nexemu.errors import KernelPanic, OutOfMemory
from nexemu.mem.sv39 import PageTable
from nexemu.riscv import MAXVA, PGSIZE, PTE_D, PTE_R, PTE_U, PTE_V, PTE_W, PTE_X, pte2pa

GIB, MIB = 1 << 30, 1 << 20
USER = PTE_R | PTE_W | PTE_U


@pytest.fixture
def table(memory):
    """A table of its own, freed again at the end: its leaves own nothing."""
    table = PageTable(memory.frames)
    yield table
    table.unmap(0, MAXVA, None)
    table.free()


@pytest.fixture
def used(memory):
    return lambda: memory.frames.used_frames


def word(memory, pa):
    return int.from_bytes(memory.ram.read(pa, 8), "little")


# ---- the format -------------------------------------------------------------------------------


def test_a_mapping_is_three_entries_as_the_specification_draws_them(memory, table):
    va = 5 << 30 | 7 << 21 | 9 << 12
    table.mappages(va, PGSIZE, 0x8765_4000, PTE_R | PTE_U)
    first = word(memory, table.root + 8 * 5)
    second = word(memory, (first >> 10 << 12) + 8 * 7)
    third = word(memory, (second >> 10 << 12) + 8 * 9)
    assert (first & 0x3FF, second & 0x3FF) == (1, 1), "pointers have V and nothing else"
    assert third == 0x8_7654 << 10 | 0b0001_0011
    assert table.pte(va + 4095) == third


def test_a_new_table_maps_nothing(table):
    assert list(table.leaves()) == []
    assert all(table.pte(va) == 0 for va in (0, PGSIZE, MAXVA - 1))


@pytest.mark.parametrize("va", [MAXVA, MAXVA + PGSIZE, 1 << 39, 1 << 63, (1 << 64) - 1])
def test_beyond_maxva_there_is_no_entry_and_walking_there_is_a_panic(table, va):
    assert table.pte(va) == 0
    with pytest.raises(KernelPanic, match=f"walk: {va:#x}"):
        table.walk(va)


@given(st.dictionaries(st.integers(0, MAXVA // PGSIZE - 1), st.integers(0, 0x7FFF), max_size=12), st.data())
def test_the_specifications_walk_finds_what_was_mapped(pages, data):
    memory = Memory(pages=128)
    table = PageTable(memory.frames)
    for page, frame in pages.items():
        table.mappages(page * PGSIZE, PGSIZE, 0x8000_0000 + frame * PGSIZE, USER | PTE_X)
    offset = data.draw(st.integers(0, PGSIZE - 1))
    for page, frame in pages.items():
        found = spec_walk.translate(memory.ram, table.root, page * PGSIZE + offset, "WRITE")
        assert found == 0x8000_0000 + frame * PGSIZE + offset
    other = data.draw(st.integers(0, MAXVA // PGSIZE - 1))
    if other not in pages:
        assert spec_walk.translate(memory.ram, table.root, other * PGSIZE, "READ") is None
        assert not table.pte(other * PGSIZE) & PTE_V


# ---- tables on the way ------------------------------------------------------------------------


def test_tables_are_made_one_for_each_region_and_gibibyte(table, used):
    assert used() == 2, "the trampoline and the root"
    for va, tables in [(0, 2), (PGSIZE, 0), (2 * MIB - 1, 0), (2 * MIB, 1), (GIB, 2), (GIB + 2 * MIB, 1)]:
        before = used()
        table.walk(va)
        assert used() - before == tables, hex(va)


def test_looking_makes_no_tables(table, used):
    before = used()
    assert table.lookup(3 * GIB) == -1
    assert table.pte(3 * GIB) == 0
    assert used() == before


@pytest.mark.parametrize("n", [1, 2])
def test_a_table_that_cannot_be_had_leaves_a_sound_tree(memory, table, n):
    memory.frames.fail_at = n
    with pytest.raises(OutOfMemory):
        table.walk(GIB)
    assert list(table.leaves()) == []
    assert len(list(table.table_frames())) == n
    table.mappages(GIB, PGSIZE, 0x8100_0000, USER)
    assert [leaf.va for leaf in table.leaves()] == [GIB]


def test_table_frames_are_all_that_the_table_takes(memory, table, used):
    for va in (0, 2 * MIB, 5 * GIB, MAXVA - PGSIZE):
        table.walk(va)
    frames = list(table.table_frames())
    assert len(frames) == len(set(frames)) == 1 + 3 + 4
    assert used() == 1 + len(frames)


# ---- mapping and unmapping --------------------------------------------------------------------


def test_consecutive_pages_go_to_consecutive_frames(table):
    table.mappages(2 * MIB - 2 * PGSIZE, 4 * PGSIZE, 0x8100_0000, USER)
    assert [(leaf.va, leaf.pte >> 10 << 12) for leaf in table.leaves()] == [
        (2 * MIB + (i - 2) * PGSIZE, 0x8100_0000 + i * PGSIZE) for i in range(4)
    ]


@pytest.mark.parametrize(
    ("va", "size", "pa"), [(8, PGSIZE, 0), (0, PGSIZE + 8, 0), (0, PGSIZE, 8), (0, 0, 0), (PGSIZE, 100, 0)]
)
def test_only_whole_pages_are_mapped(table, va, size, pa):
    with pytest.raises(KernelPanic, match=r"mappages.*aligned"):
        table.mappages(va, size, 0x8100_0000 + pa, USER)


def test_mapping_a_mapped_page_is_a_panic(table):
    table.mappages(PGSIZE, PGSIZE, 0x8100_0000, USER)
    with pytest.raises(KernelPanic, match=r"remap of 0x1000"):
        table.mappages(0, 2 * PGSIZE, 0x8200_0000, USER)


def test_a_mapping_that_runs_out_of_tables_maps_nothing(memory, table):
    table.walk(0)
    memory.frames.fail_at = 1
    with pytest.raises(OutOfMemory):
        table.mappages(2 * MIB - 2 * PGSIZE, 4 * PGSIZE, 0x8100_0000, USER)
    assert list(table.leaves()) == []


def test_unmapping_skips_holes_hands_the_leaves_over_and_keeps_the_tables(table, used):
    pages = [0, 3, 511, 512, 600, 1024]
    for page in pages:
        table.mappages(page * PGSIZE, PGSIZE, 0x8100_0000 + page * PGSIZE, USER)
    before, released = used(), []
    assert table.unmap(3 * PGSIZE, 601 * PGSIZE, released.extend) == 4
    assert [pte2pa(pte) for pte in released] == [0x8100_0000 + page * PGSIZE for page in (3, 511, 512, 600)]
    assert [leaf.va // PGSIZE for leaf in table.leaves()] == [0, 1024]
    assert used() == before


def test_unmapping_nothing_unmaps_nothing(table):
    table.mappages(0, 2 * PGSIZE, 0x8100_0000, USER)
    assert table.unmap(PGSIZE, PGSIZE, None) == 0
    assert table.unmap(GIB, 3 * GIB, None) == 0
    assert len(list(table.leaves())) == 2


@pytest.mark.parametrize(("start", "end"), [(8, PGSIZE), (0, PGSIZE + 8)])
def test_only_whole_pages_are_unmapped(table, start, end):
    with pytest.raises(KernelPanic, match=r"unmap.*aligned"):
        table.unmap(start, end, None)


@given(st.sets(st.integers(0, 2000), max_size=30), st.integers(0, 2100), st.integers(0, 2100))
def test_leaves_and_unmap_agree_with_a_set_of_pages(pages, start, end):
    memory = Memory(pages=64)
    table = PageTable(memory.frames)
    for page in pages:
        table.mappages(page * PGSIZE, PGSIZE, 0x8100_0000, USER)
    within = sorted(page for page in pages if start <= page < end)
    assert [leaf.va // PGSIZE for leaf in table.leaves(start * PGSIZE, end * PGSIZE)] == within
    if start <= end:
        assert table.unmap(start * PGSIZE, end * PGSIZE, None) == len(within)
        assert {leaf.va // PGSIZE for leaf in table.leaves()} == pages - set(within)


def test_a_wide_range_costs_what_is_mapped(table):
    """256 GiB, as lazytest's last test leaves it; page by page this would take minutes."""
    table.mappages(0, PGSIZE, 0x8100_0000, USER)
    table.mappages(MAXVA - PGSIZE, PGSIZE, 0x8100_1000, USER)
    assert [leaf.va for leaf in table.leaves(0, MAXVA)] == [0, MAXVA - PGSIZE]
    assert table.unmap(0, MAXVA, None) == 2


def test_a_table_with_a_leaf_cannot_be_freed(memory):
    table = PageTable(memory.frames)
    table.mappages(7 * PGSIZE, PGSIZE, memory.trampoline, USER)
    with pytest.raises(KernelPanic, match="freewalk: 0x7000"):
        table.free()
    table.unmap(0, MAXVA, None)
    table.free()


# ---- what is no table -------------------------------------------------------------------------

NO_POINTERS = {
    "a 2 MiB leaf": PTE_V | PTE_R | PTE_U,
    "W alone": PTE_V | PTE_W,
    "U": PTE_V | PTE_U,
    "D": PTE_V | PTE_D,
    "a reserved bit": PTE_V | 1 << 60,
}


@pytest.mark.parametrize("bits", NO_POINTERS.values(), ids=NO_POINTERS.keys())
@pytest.mark.parametrize("level", [2, 1])
def test_an_entry_that_points_to_no_table_reads_as_unmapped(memory, table, level, bits):
    table.mappages(GIB, PGSIZE, 0x8100_0000, USER)
    at = table.root + 8
    if level == 1:
        at = word(memory, at) >> 10 << 12
    entry = word(memory, at)
    fresh = PageTable.__new__(PageTable)  # the same table, seen by a core with an empty walk cache
    for name in ("frames", "root", "words", "_first_word", "_root_index"):
        setattr(fresh, name, getattr(table, name))
    fresh.walk_cache = {}
    memory.ram.write(at, (entry | bits).to_bytes(8, "little"))
    try:
        assert fresh.pte(GIB) == 0
        assert list(fresh.leaves()) == []
        assert fresh.unmap(0, MAXVA, None) == 0
    finally:
        memory.ram.write(at, entry.to_bytes(8, "little"))


# ---- for people -------------------------------------------------------------------------------


def test_vmprint_shows_each_leaf_with_its_indices_frame_and_flags(table):
    table.mappages(1 << 30 | 2 << 21 | 3 << 12, PGSIZE, 0x8100_0000, PTE_R | PTE_X | PTE_U)
    assert table.vmprint().splitlines() == [
        f"page table {table.root:#x}",
        " 0x0040403000 [1/2/3] -> 0x81000000 V R - X U - - -",
    ]
