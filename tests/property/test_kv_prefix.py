"""The radix cache, its naive twin and a plain dictionary of prefixes, on the blocks of one small pool."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nexemu.evict import POLICIES, Setup
from nexemu.kv.naive_prefix_cache import NaivePrefixCache
from nexemu.kv.pool import BlockPool
from nexemu.kv.radix_cache import RadixCache

BLOCKS = 12
TOKENS = st.lists(st.integers(0, 1), max_size=12)
NAMESPACES = st.sampled_from(["", "other"])
ONLINE = sorted(name for name, policy in POLICIES.items() if policy.online)


class Prefixes(RuleBasedStateMachine):
    """Requests come, take what is cached, compute the rest, and leave it to the cache.

    ``cached`` is the dictionary: which block holds the last page of each cached prefix. ``written`` is
    what a device would hold: the prefix up to and including each block.
    """

    @initialize(page=st.integers(1, 3), policy=st.sampled_from(ONLINE))
    def build(self, page, policy):
        self.page = page
        self.real = RadixCache(page, POLICIES[policy](Setup(BLOCKS)))
        self.twin = NaivePrefixCache(page, POLICIES[policy](Setup(BLOCKS)))
        self.pool = BlockPool(BLOCKS)
        self.cached = {}
        self.written = {}
        self.running = []

    # ---- both at once -----------------------------------------------------------------------------

    def match(self, tokens, namespace):
        match = self.real.match(tokens, namespace)
        assert match == self.twin.match(tokens, namespace)
        blocks = list(self.real.blocks(match))
        assert blocks == self.twin.blocks(match)
        prefixes = self.prefixes(tokens, namespace)
        expected = [self.cached[prefix] for prefix in prefixes if prefix in self.cached]
        assert blocks == expected
        assert [self.written[block] for block in blocks] == prefixes[: len(blocks)]
        return match, blocks

    def evict_tokens(self, count):
        before = self.real.cached_tokens
        freed = list(self.real.evict(count))
        assert freed == self.twin.evict(count)
        kept = self.real.cached_tokens
        assert before - kept == len(freed) * self.page
        assert before - kept >= count or kept == self.real.locked_tokens
        self.cached = {prefix: block for prefix, block in self.cached.items() if block not in freed}
        for block in freed:
            self.pool.kfree(block)

    def prefixes(self, tokens, namespace):
        ends = range(self.page, len(tokens) + 1, self.page)
        return [(namespace, *tokens[:end]) for end in ends]

    # ---- rules ------------------------------------------------------------------------------------

    @rule(tokens=TOKENS, namespace=NAMESPACES)
    def begin(self, tokens, namespace):
        self.start(tokens, namespace)

    def start(self, tokens, namespace):
        match, blocks = self.match(tokens, namespace)
        for cache in (self.real, self.twin):
            cache.lock(match)
        prefixes = self.prefixes(tokens, namespace)
        missing = len(prefixes) - len(blocks)
        self.evict_tokens((missing - self.pool.free_blocks) * self.page)
        if missing > self.pool.free_blocks:
            assert self.real.cached_tokens == self.real.locked_tokens
            for cache in (self.real, self.twin):
                cache.unlock(match)
            return False
        own = [self.pool.kalloc() for _ in range(missing)]
        self.written.update(zip(own, prefixes[len(blocks) :], strict=True))
        self.running.append((tokens, namespace, match, blocks + own))
        return True

    @rule(tokens=TOKENS, namespace=NAMESPACES)
    def serve(self, tokens, namespace):
        if self.start(tokens, namespace):
            self.end(len(self.running) - 1)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def finish(self, data):
        self.end(data.draw(st.integers(0, len(self.running) - 1)))

    def end(self, which):
        tokens, namespace, match, blocks = self.running.pop(which)
        inserted = self.real.insert(tokens, blocks, namespace)
        assert inserted == self.twin.insert(tokens, blocks, namespace)
        assert inserted.known >= match.length
        for block in blocks[match.length // self.page : inserted.known // self.page]:
            self.pool.kfree(block)
        for prefix, block in zip(self.prefixes(tokens, namespace), blocks, strict=True):
            self.cached.setdefault(prefix, block)
        for cache in (self.real, self.twin):
            cache.unlock(match)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def preempt(self, data):
        which = data.draw(st.integers(0, len(self.running) - 1))
        _, _, match, blocks = self.running.pop(which)
        for block in blocks[match.length // self.page :]:
            self.pool.kfree(block)
        for cache in (self.real, self.twin):
            cache.unlock(match)

    @rule(tokens=TOKENS, namespace=NAMESPACES)
    def look(self, tokens, namespace):
        self.match(tokens, namespace)

    @rule(count=st.integers(0, 20))
    def evict(self, count):
        self.evict_tokens(count)

    # ---- always -----------------------------------------------------------------------------------

    @invariant()
    def the_caches_agree(self):
        assert list(self.real.nodes()) == list(self.twin.nodes())
        assert self.real.cached_tokens == self.twin.cached_tokens == len(self.cached) * self.page
        assert self.real.locked_tokens == self.twin.locked_tokens
        self.real.audit()
        self.twin.audit()

    @invariant()
    def every_block_is_free_or_cached_or_some_requests(self):
        own = [block for _, _, match, blocks in self.running for block in blocks[match.length // self.page :]]
        self.pool.audit([*self.cached.values(), *own])
        assert self.pool.free_blocks + self.pool.used_blocks == self.pool.total

    @invariant()
    def what_is_locked_is_what_requests_use(self):
        used = {
            prefix
            for tokens, namespace, match, _ in self.running
            for prefix in self.prefixes(tokens[: match.length], namespace)
        }
        assert self.real.locked_tokens == len(used) * self.page

    def teardown(self):
        if not hasattr(self, "running"):
            return
        for *_, match, blocks in self.running:
            for block in blocks[match.length // self.page :]:
                self.pool.kfree(block)
            self.real.unlock(match)
        for block in self.real.evict(self.real.cached_tokens):
            self.pool.kfree(block)
        assert self.pool.used_blocks == self.real.cached_tokens == 0


Prefixes.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestPrefixes = Prefixes.TestCase


@pytest.mark.parametrize("policy", ONLINE)
@given(sequences=st.lists(TOKENS, max_size=8))
@settings(max_examples=30, deadline=None)
def test_evicting_everything_gives_back_every_block_once(policy, sequences):
    cache = RadixCache(1, POLICIES[policy](Setup(BLOCKS)))
    stored = 0
    for number, tokens in enumerate(sequences):
        known = cache.insert(tokens, range(100 * number, 100 * number + len(tokens))).known
        stored += len(tokens) - known
    freed = list(cache.evict(cache.cached_tokens))
    assert len(freed) == len(set(freed)) == stored
