"""Address spaces in a memory that is too small, against a model of dictionaries that is not.

Whatever the policy, whatever leaves and comes back, every program reads what it wrote; all books
balance after every step.
"""

from contextlib import suppress

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from paging_support import ONLINE, PagedMemory, user_load, user_store

from nexemu.errors import OutOfMemory
from nexemu.mem.usercopy import copyin, copyout
from nexemu.riscv import PGSIZE, PTE_D, PTE_V, pte2pa

FRAMES, SLOTS = 64, 400
MOST = 60
"""Pages of a space; five spaces have six frames of tables and trapframe each, so about 30 are left."""
SPACES = 5

WHO = st.integers(0, SPACES - 1)
PAGE = st.integers(0, MOST - 1)
BYTE = st.integers(1, 255)


class TooSmall(RuleBasedStateMachine):
    """``models`` has a dict for each space: a page's number to the byte at its start and the one at its end,
    for pages that were stored to; all others read zero."""

    @initialize(policy=st.sampled_from(ONLINE), lazy=st.booleans(), cow=st.booleans())
    def boot(self, policy, lazy, cow):
        self.memory = PagedMemory(FRAMES, slots=SLOTS, policy=policy, lazy=lazy, cow=cow)
        self.spaces, self.models = [self.memory.space()], [{}]
        self.memory.grow(self.spaces[0], MOST * PGSIZE)
        self.sizes = [MOST]

    def pick(self, who):
        return who % len(self.spaces)

    @rule(who=WHO, first=PAGE, count=st.integers(1, MOST), byte=BYTE)
    def store_to_many(self, who, first, count, byte):
        who = self.pick(who)
        for page in range(first, min(first + count, self.sizes[who])):
            user_store(self.spaces[who], page * PGSIZE, byte)
            self.models[who][page] = byte, self.models[who].get(page, (0, 0))[1]

    @rule(who=WHO, page=PAGE, byte=BYTE)
    def copy_out_across(self, who, page, byte):
        who = self.pick(who)
        if page + 1 < self.sizes[who]:
            copyout(self.spaces[who], (page + 1) * PGSIZE - 1, bytes([byte, byte]))
            model = self.models[who]
            model[page] = model.get(page, (0, 0))[0], byte
            model[page + 1] = byte, model.get(page + 1, (0, 0))[1]

    @rule(who=WHO, first=PAGE, count=st.integers(1, MOST))
    def load_many(self, who, first, count):
        who = self.pick(who)
        for page in range(first, min(first + count, self.sizes[who])):
            assert user_load(self.spaces[who], page * PGSIZE) == self.models[who].get(page, (0, 0))[0]

    @rule(who=WHO, page=PAGE)
    def copy_in(self, who, page):
        who = self.pick(who)
        if page < self.sizes[who]:
            data = copyin(self.spaces[who], page * PGSIZE, PGSIZE)
            assert (data[0], data[-1]) == self.models[who].get(page, (0, 0))
            assert not any(data[1:-1])

    @rule(who=WHO, pages=st.integers(0, MOST))
    def resize(self, who, pages):
        who = self.pick(who)
        self.memory.grow(self.spaces[who], (pages - self.sizes[who]) * PGSIZE)
        self.sizes[who] = pages
        self.models[who] = {page: held for page, held in self.models[who].items() if page < pages}

    @precondition(lambda self: len(self.spaces) < SPACES)
    @rule(who=WHO)
    def fork(self, who):
        who = self.pick(who)
        self.spaces.append(self.memory.fork(self.spaces[who]))
        self.models.append(dict(self.models[who]))
        self.sizes.append(self.sizes[who])

    @precondition(lambda self: len(self.spaces) > 1)
    @rule(who=WHO)
    def end(self, who):
        who = self.pick(who)
        self.memory.end(self.spaces.pop(who))
        del self.models[who], self.sizes[who]

    @rule(frames=st.integers(1, 12))
    def the_kernel_wants_frames(self, frames):
        taken = []
        try:
            taken += [self.memory.frames.kalloc() for _ in range(frames)]
        except OutOfMemory:
            assert self.memory.free == 0
        for frame in taken:
            self.memory.frames.kfree(frame)

    @rule(who=WHO, page=PAGE, n=st.integers(1, 3))
    def a_fault_that_fails_loses_nothing(self, who, page, n):
        who = self.pick(who)
        if page < self.sizes[who]:
            self.memory.frames.fail_at = n
            with suppress(OutOfMemory):
                assert user_load(self.spaces[who], page * PGSIZE) == self.models[who].get(page, (0, 0))[0]
            self.memory.frames.fail_at = None

    @invariant()
    def the_books_balance(self):
        self.memory.audit()

    @invariant()
    def a_clean_frame_equals_its_slot(self):
        pager, ram = self.memory.pager, self.memory.ram
        dirty = {
            pte2pa(leaf.pte)
            for space in self.spaces
            for leaf in space.table.leaves()
            if leaf.pte & PTE_V and leaf.pte & PTE_D
        }
        assert {slot: frame for frame, slot in pager._slot_of.items()} == pager._frame_of
        for frame, slot in pager._slot_of.items():
            assert frame in dirty or ram.read(frame, PGSIZE) == self.memory.swap.read(slot)

    def teardown(self):
        for space, model, size in zip(self.spaces, self.models, self.sizes, strict=True):
            for page in range(size):
                assert user_load(space, page * PGSIZE) == model.get(page, (0, 0))[0]
        self.memory.close()


def play(examples, steps):
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    run_state_machine_as_test(TooSmall, settings=how)


def test_what_was_written_is_read_again():
    play(examples=40, steps=20)


@pytest.mark.slow
def test_what_was_written_is_read_again_for_long():
    play(examples=300, steps=50)
