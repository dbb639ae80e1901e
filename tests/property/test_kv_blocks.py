"""The block manager against KV memory that is really written: lists of tokens in place of keys and values."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nexemu.errors import OutOfMemory
from nexemu.kv.block_manager import BlockManager

BLOCK_TOKENS = 3
BLOCKS = 8
HOST_BLOCKS = 4
PROMPTS = st.lists(st.integers(0, 1), min_size=1, max_size=10)


class KvMemory(RuleBasedStateMachine):
    """``device`` and ``host`` are what each block holds, written as the manager says. ``prefixes`` is the
    brute-force prefix cache: for each block that was filled and not handed out again, all
    tokens from the start of the sequence that filled it."""

    def __init__(self):
        super().__init__()
        self.manager = BlockManager(
            BLOCKS, BLOCK_TOKENS, host_blocks=HOST_BLOCKS, watermark=1, on_copy=self.copy_block
        )
        self.device = {block: [None] * BLOCK_TOKENS for block in range(BLOCKS)}
        self.host = {block: [None] * BLOCK_TOKENS for block in range(HOST_BLOCKS)}
        self.prefixes = {}
        self.running = {}
        self.swapped = {}
        self.preempted = {}
        self.born = 0

    # ---- what a device does -----------------------------------------------------------------------

    def copy_block(self, copy):
        self.device[copy.target] = list(self.device[copy.source])
        self.prefixes.pop(copy.target, None)

    def write(self, sequence, start):
        """Compute the tokens of ``sequence`` from ``start`` on into its blocks."""
        tokens = self.running[sequence]
        for position in range(start, len(tokens)):
            block, slot = self.manager.translate(sequence, position)
            if slot == 0:
                self.device[block] = [None] * BLOCK_TOKENS
                self.prefixes.pop(block, None)
            assert self.manager.pool.refcount(block) == 1, "a shared block is written"
            self.device[block][slot] = tokens[position]
            if slot == BLOCK_TOKENS - 1:
                self.prefixes[block] = tuple(tokens[: position + 1])

    def known_blocks(self, tokens):
        """How many blocks at the start of ``tokens`` are somewhere, the last token not counted."""
        known = 0
        while (end := (known + 1) * BLOCK_TOKENS) < len(tokens) and tuple(
            tokens[:end]
        ) in self.prefixes.values():
            known += 1
        return known

    def fresh_blocks(self, tokens):
        """How many free blocks a prompt takes: those to compute and those known that nobody holds."""
        known = self.known_blocks(tokens)
        held = {tuple(tokens[: (number + 1) * BLOCK_TOKENS]) for number in range(known)} & {
            prefix for block, prefix in self.prefixes.items() if self.manager.pool.refcount(block)
        }
        return -(-len(tokens) // BLOCK_TOKENS) - len(held)

    # ---- rules ------------------------------------------------------------------------------------

    def begin(self, tokens):
        self.born += 1
        known, fresh, free = (
            self.known_blocks(tokens),
            self.fresh_blocks(tokens),
            self.manager.pool.free_blocks,
        )
        assert not (self.manager.can_allocate(tokens) and fresh + 1 > free)
        try:
            cached = self.manager.allocate(self.born, tokens)
        except OutOfMemory:
            return False
        assert cached == known * BLOCK_TOKENS
        assert free - self.manager.pool.free_blocks >= fresh
        self.running[self.born] = list(tokens)
        self.write(self.born, cached)
        return True

    @rule(tokens=PROMPTS)
    def allocate(self, tokens):
        if not self.begin(tokens):
            assert self.manager.pool.free_blocks < -(-len(tokens) // BLOCK_TOKENS)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), token=st.integers(0, 1))
    def append(self, data, token):
        sequence = data.draw(st.sampled_from(sorted(self.running)))
        try:
            self.manager.append(sequence, token)
        except OutOfMemory:
            assert self.manager.pool.free_blocks == 0
            return
        self.running[sequence].append(token)
        self.write(sequence, len(self.running[sequence]) - 1)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def fork(self, data):
        parent = data.draw(st.sampled_from(sorted(self.running)))
        free = self.manager.pool.free_blocks
        self.born += 1
        self.manager.fork(parent, self.born)
        assert self.manager.pool.free_blocks == free
        self.running[self.born] = list(self.running[parent])

    @precondition(lambda self: self.running or self.swapped)
    @rule(data=st.data())
    def free(self, data):
        sequence = data.draw(st.sampled_from(sorted([*self.running, *self.swapped])))
        self.manager.free(sequence)
        self.running.pop(sequence, None)
        self.swapped.pop(sequence, None)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def preempt_by_swap(self, data):
        sequence = data.draw(st.sampled_from(sorted(self.running)))
        try:
            copies = self.manager.swap_out(sequence)
        except OutOfMemory:
            assert self.manager.host.free_blocks < len(self.manager.table(sequence))
            return
        for source, target in copies:
            self.host[target] = list(self.device[source])
        self.swapped[sequence] = self.running.pop(sequence)

    @precondition(lambda self: self.swapped)
    @rule(data=st.data())
    def resume_by_swap(self, data):
        sequence = data.draw(st.sampled_from(sorted(self.swapped)))
        needed, free = -(-len(self.swapped[sequence]) // BLOCK_TOKENS), self.manager.pool.free_blocks
        assert self.manager.can_swap_in(sequence) == (needed + 1 <= free)
        try:
            copies = self.manager.swap_in(sequence)
        except OutOfMemory:
            assert needed > free
            return
        tokens = self.running[sequence] = self.swapped.pop(sequence)
        for number, (source, target) in enumerate(copies):
            self.device[target] = list(self.host[source])
            self.prefixes.pop(target, None)
            end = (number + 1) * BLOCK_TOKENS
            if end <= len(tokens):
                self.prefixes[target] = tuple(tokens[:end])

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def preempt_by_recompute(self, data):
        sequence = data.draw(st.sampled_from(sorted(self.running)))
        self.manager.free(sequence)
        self.preempted[sequence] = self.running.pop(sequence)

    @precondition(lambda self: self.preempted)
    @rule(data=st.data())
    def resume_by_recompute(self, data):
        sequence = data.draw(st.sampled_from(sorted(self.preempted)))
        if self.begin(self.preempted[sequence]):
            del self.preempted[sequence]

    # ---- always -----------------------------------------------------------------------------------

    @invariant()
    def every_block_is_free_or_used(self):
        self.manager.audit()
        for pool in (self.manager.pool, self.manager.host):
            assert pool.free_blocks + pool.used_blocks == pool.total

    @invariant()
    def each_sequence_reads_its_own_tokens(self):
        for sequence, tokens in self.running.items():
            places = [self.manager.translate(sequence, position) for position in range(len(tokens))]
            assert [self.device[place.block][place.slot] for place in places] == tokens

    @invariant()
    def what_is_empty_is_counted(self):
        held = {block for sequence in self.running for block in self.manager.table(sequence)}
        filled = {
            self.manager.translate(sequence, position)
            for sequence, tokens in self.running.items()
            for position in range(len(tokens))
        }
        assert self.manager.empty_slots == len(held) * BLOCK_TOKENS - len(filled)

    def teardown(self):
        for sequence in [*self.running, *self.swapped]:
            self.manager.free(sequence)
        self.manager.audit()
        assert self.manager.pool.used_blocks == self.manager.host.used_blocks == 0


KvMemory.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestKvMemory = KvMemory.TestCase
