"""Three readers of the same tables agree: the kernel's translate(), the specification written down literally
(spec_walk.py), and Unicorn's own walker.

So what a guest reaches, and where it faults, does not hang on our own understanding of Sv39.
"""

from dataclasses import replace
from itertools import product

import pytest
import spec_walk
from gate import Gate, poke
from matrix_world import FILES, HEAP, KINDS, LAZY, TEXT, World
from native import Walker
from support import Memory

from nexemu.errors import BadAddress, GuestError
from nexemu.mem.builtin import BUILTIN
from nexemu.personality import NEXOS
from nexemu.riscv import (
    MAXVA,
    PGMASK,
    PGSIZE,
    PTE_A,
    PTE_COW,
    PTE_D,
    PTE_G,
    PTE_R,
    PTE_RWX,
    PTE_U,
    PTE_V,
    PTE_W,
    PTE_X,
    U64,
    Access,
    pa2pte,
)

LOAD, STORE, CODE = 0x100, 0x200, bytes.fromhex("03 06 05 00 73 00 00 00")
"""Where ``lb a2, 0(a0); ecall`` and ``sb a1, 0(a0); ecall`` lie in the text."""
STORE_CODE = bytes.fromhex("23 00 b5 00 73 00 00 00")
ECALLS = bytes.fromhex("73 00 00 00") * (PGSIZE // 4)
A0, A1, A2 = 10, 11, 12
FAULTS = {Access.READ: 13, Access.WRITE: 15, Access.FETCH: 12}


LEAF = PTE_V | PTE_R | PTE_W | PTE_X | PTE_U
UPPER_RESERVED = PTE_U | PTE_A | PTE_D


def refuse(space, va, access):
    raise BadAddress(va, "no handler")


REFUSING = replace(BUILTIN, page_fault=refuse, prepare_copy=refuse)


class Native:
    """Unicorn's walker, asked about one address at a time in a space whose page 0 holds the code above."""

    def __init__(self, space):
        self.space = space
        poke(space, LOAD, CODE)
        poke(space, STORE, STORE_CODE)
        self.data, self.fetcher = Walker(space.frames.ram), Walker(space.frames.ram)

    def allows(self, va, access):
        """Whether the access goes through; no byte changes. A fetch executes one instruction, with registers
        all zero, which can do no harm."""
        if access is Access.FETCH:
            return self._fetch(va)
        core, before = self.data, self._byte(va)
        core.use(self.space.table.root)
        core.write(A0, va)
        core.write(A1, before or 0)
        cause = core.start(LOAD if access is Access.READ else STORE)
        if cause == 8:
            assert access is Access.WRITE or before in (None, core.read(A2) & 0xFF), "it reads another byte"
        else:
            assert cause == FAULTS[access]
        return cause == 8

    def _fetch(self, va):
        core = self.fetcher
        for number in range(1, 32):
            core.write(number, 0)
        core.use(self.space.table.root)
        return core.start(va, instructions=1) != 12

    def _byte(self, va):
        ram = self.space.frames.ram
        pa = spec_walk.translate(ram, self.space.table.root, va, "READ")
        return None if pa is None else ram.read(pa, 1)[0]


def spec_allows(space, va, access):
    return spec_walk.translate(space.frames.ram, space.table.root, va, access.name) is not None


def ours_allows(space, va, access):
    paging = space.paging
    space.paging = replace(paging, handler=REFUSING)
    try:
        space.translate(va, access)
    except GuestError:
        return False
    finally:
        space.paging = paging
    return True


# ---- every PTE --------------------------------------------------------------------------------

VA = 4 * PGSIZE
SOFTWARE = (0, PTE_COW, 1 << 9, PTE_COW | 1 << 9)


class Tables:
    """A space with code at 0 and one page of ecalls at VA, whose PTEs are set by hand."""

    def __init__(self):
        self.memory = Memory(pages=128)
        self.space = self.memory.space()
        table, frames = self.space.table, self.memory.frames
        table.mappages(0, PGSIZE, frames.kalloc_zeroed(), PTE_V | PTE_R | PTE_X | PTE_U | PTE_A | PTE_D)
        self.frame = frames.kalloc()
        table.mappages(VA, PGSIZE, self.frame, PTE_V)
        self.words = table.words
        self.leaf = table.lookup(VA)
        self.root = (table.root >> 3) - self.memory.ram.first_word
        self.middle = (self.words[self.root] >> 10 << 9) - self.memory.ram.first_word
        self.native = Native(self.space)

    def ask(self, index, pte, va, access):
        """What each of the three says when the PTE at ``index`` is ``pte``."""
        answers = []
        for allows in (self.native.allows, self._spec, self._ours):
            self.memory.ram.write(self.frame, ECALLS)
            self.words[index] = pte
            answers.append(allows(va, access))
        return answers

    def _spec(self, va, access):
        return spec_allows(self.space, va, access)

    def _ours(self, va, access):
        return ours_allows(self.space, va, access)


@pytest.fixture(scope="module")
def tables():
    return Tables()


@pytest.mark.parametrize("access", Access)
@pytest.mark.parametrize("software", SOFTWARE)
def test_each_combination_of_the_flags_of_a_leaf(tables, tried, access, software):
    """V, R, W, X, U, G, A and D in all 256 ways; the two bits for software change nothing."""
    allowed = 0
    for flags in range(256):
        tried("PTEs")
        native, spec, ours = tables.ask(tables.leaf, pa2pte(tables.frame) | flags | software, VA, access)
        assert native == spec == ours, f"flags {flags:#x}"
        allowed += ours
    assert allowed == {Access.READ: 32, Access.WRITE: 16, Access.FETCH: 24}[access]


@pytest.mark.parametrize("access", Access)
@pytest.mark.parametrize("bit", range(54, 64))
def test_a_reserved_bit_is_a_page_fault(tables, tried, access, bit):
    """Unicorn 2.1.4 takes them for bits of the frame number, so it is not asked."""
    tried("PTEs")
    tables.words[tables.leaf] = pa2pte(tables.frame) | 0xDF | 1 << bit
    assert not spec_allows(tables.space, VA, access)
    assert not ours_allows(tables.space, VA, access)


@pytest.mark.parametrize("access", Access)
@pytest.mark.parametrize("level", ["root", "middle"])
def test_each_combination_of_the_flags_of_an_upper_entry(tables, tried, access, level):
    """Anything but a plain pointer there is no mapping here: superpages are never made. Of those, misaligned
    ones are asked about. Unicorn 2.1.4 overlooks U, A and D in a pointer, so there it is not asked."""
    index, shift = (tables.root, 30) if level == "root" else (tables.middle, 21)
    entry, va = index + 1, (1 << shift) + VA
    table = tables.words[index] >> 10 << 12
    tables.words[tables.leaf] = pa2pte(tables.frame) | LEAF
    allowed = set()
    for flags in range(256):
        tried("PTEs")
        native, spec, ours = tables.ask(entry, pa2pte(table) | flags, va, access)
        assert spec == ours
        assert native == spec or (not flags & PTE_RWX and flags & UPPER_RESERVED)
        if ours:
            allowed.add(flags)
        tables.words[entry] = 0
        tables.space.table.walk_cache.clear()
    assert allowed == {PTE_V, PTE_V | PTE_G}


@pytest.mark.parametrize("access", Access)
def test_an_address_is_canonical_or_a_page_fault(tables, tried, access):
    """Bits 63 to 39 are equal to bit 38; what that leaves above MAXVA nothing maps."""
    tables.words[tables.leaf] = pa2pte(tables.frame) | 0xDF
    good = {VA, VA + 2000}
    aliases = [VA + (1 << bit) for bit in range(30, 64)] + [
        VA | U64 ^ (1 << bit) - 1 for bit in range(31, 64)
    ]
    for va in [*good, *aliases, MAXVA - 4, MAXVA, U64 - 3]:
        tried("addresses")
        tables.memory.ram.write(tables.frame, ECALLS)
        native = tables.native.allows(va, access)
        assert native == spec_allows(tables.space, va, access) == ours_allows(tables.space, va, access)
        assert native == (va in good)


# ---- every mapping ----------------------------------------------------------------------------


@pytest.fixture
def world(switches):
    gate = Gate(NEXOS, files=FILES, **switches)
    world = World(gate, switches["lazy"])
    yield world
    gate.restore()


def addresses():
    for address_of in KINDS.values():
        yield address_of(8)
        yield address_of(8) & ~PGMASK


def test_every_kind_of_page_before_and_after_it_was_touched(world, tried):
    """Before, all three agree on what the tables say. Then the handler has its say: what it has allowed the
    native walker allows as well, and what it has refused that refuses."""
    space = world.space
    native = Native(space)
    for access, va in product((Access.READ, Access.FETCH, Access.WRITE), dict.fromkeys(addresses())):
        if access is Access.FETCH and va & PGMASK:
            continue
        tried("addresses")
        before = native.allows(va, access)
        assert before == spec_allows(space, va, access) == ours_allows(space, va, access), hex(va)
        try:
            space.translate(va, access)
            allowed = True
        except GuestError:
            allowed = False
        assert native.allows(va, access) == allowed, f"{access.name} {va:#x}"


def test_the_worlds_pages_are_what_they_are_called(world, switches):
    """So that the agreement above is about something."""
    native, space = Native(world.space), world.space
    assert native.allows(TEXT, Access.FETCH)
    assert not native.allows(TEXT, Access.WRITE)
    assert native.allows(HEAP, Access.WRITE)
    assert not native.allows(HEAP, Access.FETCH)
    assert native.allows(LAZY, Access.READ) != switches["lazy"]
    assert space.translate(LAZY, Access.READ)
    assert native.allows(LAZY, Access.READ)
