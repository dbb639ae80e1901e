"""Address spaces against a model of dictionaries: every byte, every page and every frame, in all settings.

The model knows pages as objects that several processes may hold, and nothing of tables or PTEs.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import SWITCH_IDS, SWITCHES, Memory

from nexemu.errors import BadAddress, BadCall, OutOfMemory
from nexemu.mem.usercopy import copyin, copyout
from nexemu.riscv import PGSIZE, Access, pte2pa

FRAMES = 4096
MOST = 700  # pages of one process: more than one last-level table maps


def pages_of(size):
    return -(-size // PGSIZE)


class Page:
    """Bytes that lie in one frame."""

    def __init__(self, content=bytes(PGSIZE)):
        self.bytes = bytearray(content)
        self.holders = 1


@dataclass
class Model:
    """One process as the lab's text describes it."""

    lazy: bool
    cow: bool
    size: int = 0
    pages: dict = field(default_factory=dict)

    def sbrk(self, n):
        old, self.size = self.size, self.size + n
        for number in [number for number in self.pages if number >= pages_of(self.size)]:
            self.pages.pop(number).holders -= 1
        if not self.lazy:
            for number in range(pages_of(old), pages_of(self.size)):
                self.pages[number] = Page()
        return old

    def touch(self, number):
        return self.pages.setdefault(number, Page())

    def read(self, va, count):
        if count == 0:
            return b""
        touched = {number: self.touch(number) for number in range(va // PGSIZE, pages_of(va + count))}
        return bytes(touched[at // PGSIZE].bytes[at % PGSIZE] for at in range(va, va + count))

    def write(self, va, data):
        if not data:
            return
        for number in range(va // PGSIZE, pages_of(va + len(data))):
            page = self.touch(number)
            if page.holders > 1:
                page.holders -= 1
                self.pages[number] = Page(page.bytes)
        for at, byte in enumerate(data, start=va):
            self.pages[at // PGSIZE].bytes[at % PGSIZE] = byte

    def fork(self):
        child = Model(self.lazy, self.cow, self.size)
        for number, page in self.pages.items():
            if self.cow:
                page.holders += 1
                child.pages[number] = page
            else:
                child.pages[number] = Page(page.bytes)
        return child

    def end(self):
        for page in self.pages.values():
            page.holders -= 1


class Twins:
    """The same processes twice: as address spaces, and as models."""

    def __init__(self, lazy, cow):
        self.memory = Memory(lazy, cow, FRAMES)
        self.pairs = [(self.memory.space(), Model(lazy, cow))]

    def pick(self, number):
        return self.pairs[number % len(self.pairs)]

    # ---- what can happen; each takes numbers and makes something possible of them ----------------

    def sbrk(self, who, n):
        space, model = self.pick(who)
        if 0 <= model.size + n <= MOST * PGSIZE:
            assert self.memory.grow(space, n) == model.sbrk(n)
        elif model.size + n < 0:
            with pytest.raises(BadCall):
                self.memory.grow(space, n)

    def copyin(self, who, where, count):
        space, model = self.pick(who)
        va, count = self.range_of(model, where, count)
        assert copyin(space, va, count) == model.read(va, count)

    def copyout(self, who, where, count):
        space, model = self.pick(who)
        va, count = self.range_of(model, where, count)
        data = bytes((where + at) % 251 for at in range(count))
        copyout(space, va, data)
        model.write(va, data)

    def store(self, who, where, byte):
        """As a program does it: a translation, then a byte into RAM."""
        space, model = self.pick(who)
        va, count = self.range_of(model, where, 1)
        if count:
            self.memory.ram.write(
                pte2pa(space.translate(va, Access.WRITE)) + va % PGSIZE, bytes([byte % 256])
            )
            model.write(va, bytes([byte % 256]))

    def load(self, who, where, _):
        space, model = self.pick(who)
        va, count = self.range_of(model, where, 1)
        if count:
            pa = pte2pa(space.translate(va, Access.READ)) + va % PGSIZE
            assert self.memory.ram.read(pa, 1) == model.read(va, 1)

    def fork(self, who, *_):
        if len(self.pairs) < 5:
            space, model = self.pick(who)
            self.pairs.append((self.memory.fork(space), model.fork()))

    def end(self, who, *_):
        if len(self.pairs) > 1:
            space, model = self.pairs.pop(who % len(self.pairs))
            self.memory.end(space)
            model.end()

    def beyond(self, who, where, _):
        space, model = self.pick(who)
        va = (pages_of(model.size) + where % 1000) * PGSIZE
        for access in Access:
            with pytest.raises(BadAddress):
                space.translate(va, access)

    @staticmethod
    def range_of(model, where, count):
        """A range that lies in the pages of the break; empty when there is none."""
        end = pages_of(model.size) * PGSIZE
        va = where % end if end else 0
        return va, min(count, end - va)

    # ---- what must hold --------------------------------------------------------------------------

    def compare(self):
        self.memory.audit()
        ram, frames = self.memory.ram, set()
        tables = 0
        for space, model in self.pairs:
            assert space.size == model.size
            leaves = {leaf.va // PGSIZE: leaf.pte for leaf in space.table.leaves(0, 1 << 37)}
            assert leaves.keys() == model.pages.keys()
            assert space.mapped_pages() == len(model.pages)
            for number, page in model.pages.items():
                frame = pte2pa(leaves[number])
                assert ram.read(frame, PGSIZE) == page.bytes
                assert self.memory.frames.refcount(frame) == page.holders
                frames.add(frame)
            tables += len(list(space.table.table_frames()))
        pages = {id(page) for _, model in self.pairs for page in model.pages.values()}
        assert len(frames) == len(pages)
        trampoline, trapframes = 1, len(self.pairs)
        assert self.memory.frames.used_frames == trampoline + trapframes + tables + len(frames)

    def close(self):
        self.memory.close()


NEAR = st.integers(-3 * PGSIZE, 4 * PGSIZE)
FAR = st.sampled_from([1, -1, PGSIZE, -PGSIZE, 300 * PGSIZE, -300 * PGSIZE, -(1 << 31), 520 * PGSIZE + 7])
WHO, WHERE = st.integers(0, 4), st.one_of(st.integers(0, 6 * PGSIZE), st.integers(0, MOST * PGSIZE))
STEPS = st.one_of(
    st.tuples(st.just(Twins.sbrk), WHO, st.one_of(NEAR, FAR)),
    st.tuples(st.sampled_from([Twins.copyin, Twins.copyout]), WHO, WHERE, st.integers(0, 2 * PGSIZE + 10)),
    st.tuples(st.sampled_from([Twins.store, Twins.load]), WHO, WHERE, st.integers(0, 255)),
    st.tuples(st.sampled_from([Twins.fork, Twins.fork, Twins.end, Twins.beyond]), WHO, WHERE, st.just(0)),
)


def play(lazy, cow, steps):
    twins = Twins(lazy, cow)
    twins.sbrk(0, 3 * PGSIZE + 5)
    for step, *arguments in steps:
        step(twins, *arguments)
        twins.compare()
    twins.close()


@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEPS, max_size=25))
def test_spaces_agree_with_the_model(lazy, cow, steps):
    play(lazy, cow, steps)


@pytest.mark.slow
@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
@settings(max_examples=200, deadline=None)
@given(steps=st.lists(STEPS, min_size=10, max_size=60))
def test_spaces_agree_with_the_model_for_long(lazy, cow, steps):
    play(lazy, cow, steps)


# ---- failures at any allocation -----------------------------------------------------------------

ONE_PAGE = st.one_of(
    st.tuples(st.just(Twins.sbrk), WHO, NEAR),
    st.tuples(st.sampled_from([Twins.store, Twins.load]), WHO, WHERE, st.integers(0, 255)),
    st.tuples(st.sampled_from([Twins.fork, Twins.end]), WHO, WHERE, st.just(0)),
)


def play_with_failures(lazy, cow, steps):
    """Any step may run out of memory: it has changed nothing that a program can see then."""
    twins = Twins(lazy, cow)
    twins.sbrk(0, 6 * PGSIZE + 5)
    for (step, *arguments), n in steps:
        twins.memory.frames.fail_at = n or None
        try:
            step(twins, *arguments)
        except OutOfMemory:
            assert n
        twins.memory.frames.fail_at = None
        twins.compare()
    twins.close()


@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(ONE_PAGE, st.integers(0, 8)), max_size=25))
def test_a_step_that_runs_out_changes_nothing(lazy, cow, steps):
    play_with_failures(lazy, cow, steps)


@pytest.mark.slow
@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
@settings(max_examples=200, deadline=None)
@given(steps=st.lists(st.tuples(ONE_PAGE, st.integers(0, 12)), min_size=10, max_size=60))
def test_a_step_that_runs_out_changes_nothing_for_long(lazy, cow, steps):
    play_with_failures(lazy, cow, steps)
