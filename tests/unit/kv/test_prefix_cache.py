"""Both prefix caches: the course notes' examples, and the contract."""

import pytest

from nexemu.errors import KernelPanic
from nexemu.evict.fifo import Fifo
from nexemu.evict.lru import Lru
from nexemu.kv.naive_prefix_cache import NaivePrefixCache
from nexemu.kv.prefix_cache import Match, pretty
from nexemu.kv.radix_cache import RadixCache

SENTENCES = [
    "you are a helpful assistant . what is paging ?",
    "you are a helpful assistant . what is a radix tree ?",
    "you are a helpful assistant . explain lru caching .",
    "you are a careful reviewer . check this code .",
]
QUERY = "you are a helpful assistant . what is caching ?"
TREE = """\
└ [you are a]  length 3
  └ [careful reviewer . check this code .]  length 7
  └ [helpful assistant .]  length 3
    └ [explain lru caching .]  length 4
    └ [what is]  length 2
      └ [a radix tree ?]  length 4
      └ [paging ?]  length 2"""
WORDS = sorted({word for sentence in [*SENTENCES, QUERY] for word in sentence.split()})


def tokens(sentence):
    return [WORDS.index(word) for word in sentence.split()]


@pytest.fixture(params=[RadixCache, NaivePrefixCache])
def make(request):
    made = []

    def cache(page=1, evictor=None):
        made.append(request.param(page, evictor or Lru()))
        return made[-1]

    yield cache
    for each in made:
        each.audit()


def insert(cache, sequence, first_block=0, namespace=""):
    """Cache ``sequence`` in the blocks from ``first_block`` on."""
    return cache.insert(sequence, range(first_block, first_block + len(sequence)), namespace)


@pytest.fixture
def four_sentences(make):
    cache = make()
    for number, sentence in enumerate(SENTENCES):
        insert(cache, tokens(sentence), 100 * number)
    return cache


# ---- the notes' four sentences --------------------------------------------------------------------


def test_forty_two_tokens_are_stored_as_twenty_five_in_seven_nodes(four_sentences):
    assert sum(len(tokens(sentence)) for sentence in SENTENCES) == 42
    assert four_sentences.cached_tokens == 25
    assert len(list(four_sentences.nodes())) == 7


def test_the_tree_is_the_one_in_the_notes(four_sentences):
    assert pretty(four_sentences.nodes(), WORDS.__getitem__) == TREE


def test_the_query_matches_eight_tokens(four_sentences):
    assert four_sentences.match(tokens(QUERY)).length == 8


def test_a_match_names_the_blocks_of_whoever_inserted_them(four_sentences):
    match = four_sentences.match(tokens(SENTENCES[3]))
    assert list(four_sentences.blocks(match)) == [0, 1, 2, *range(303, 310)]


def test_a_new_request_matches_six_tokens_and_splits_a_node(make):
    """The notes' sixth exercise."""
    cache = make()
    insert(cache, tokens("you are a helpful assistant . what is paging ?"))
    insert(cache, tokens("you are a careful reviewer ."))
    request = tokens("you are a helpful assistant . explain paging .")
    assert insert(cache, request).known == 6
    assert (
        pretty(cache.nodes(), WORDS.__getitem__)
        == """\
└ [you are a]  length 3
  └ [careful reviewer .]  length 3
  └ [helpful assistant .]  length 3
    └ [explain paging .]  length 3
    └ [what is paging ?]  length 4"""
    )


# ---- matching and inserting -----------------------------------------------------------------------


def test_an_empty_cache_matches_nothing(make):
    cache = make()
    assert cache.match([1, 2, 3]) == Match(0, None)
    assert list(cache.blocks(Match(0, None))) == []
    assert (cache.cached_tokens, list(cache.nodes())) == (0, [])


def test_nothing_can_be_inserted(make):
    cache = make(page=2)
    assert cache.insert([], []) == (0, Match(0, None))
    assert cache.insert([5], []) == (0, Match(0, None))
    assert cache.cached_tokens == 0


def test_what_is_known_keeps_its_blocks(make):
    cache = make()
    assert insert(cache, [1, 2, 3], 10).known == 0
    again = insert(cache, [1, 2, 3, 4], 20)
    assert again.known == 3
    assert list(cache.blocks(again.match)) == [10, 11, 12, 23]


def test_a_match_within_a_node_cuts_it(make):
    cache = make()
    insert(cache, [1, 2, 3, 4], 10)
    match = cache.match([1, 2, 9])
    assert match.length == 2
    assert list(cache.blocks(match)) == [10, 11]
    assert [node.tokens for node in cache.nodes()] == [(1, 2), (3, 4)]


def test_a_match_survives_later_cuts(make):
    cache = make()
    whole = insert(cache, [1, 2, 3, 4], 10).match
    cache.match([1, 2, 9])
    cache.match([1, 9])
    assert list(cache.blocks(whole)) == [10, 11, 12, 13]


def test_pages_are_matched_whole(make):
    cache = make(page=2)
    cache.insert([1, 2, 3, 4, 5], [7, 8])
    assert cache.cached_tokens == 4
    assert cache.match([1, 2, 3, 9]).length == 2
    assert cache.match([1, 9, 3, 4]).length == 0
    assert cache.insert([1, 9, 3, 4], [5, 6]).known == 0
    assert cache.insert([1, 2, 3, 9], [7, 3]).known == 2


def test_namespaces_share_nothing(make):
    cache = make()
    insert(cache, [1, 2, 3], 10, "one")
    assert cache.match([1, 2, 3], "two").length == 0
    assert insert(cache, [1, 2, 3], 20, "two").known == 0
    assert list(cache.blocks(cache.match([1, 2], "one"))) == [10, 11]
    assert list(cache.blocks(cache.match([1, 2], "two"))) == [20, 21]
    assert cache.cached_tokens == 6


def test_each_page_needs_a_block(make):
    with pytest.raises(KernelPanic, match="insert"):
        make(page=2).insert([1, 2, 3, 4], [7])


# ---- locking and evicting -------------------------------------------------------------------------


def test_leaves_go_first_and_the_least_recently_used_of_them(make):
    cache = make()
    insert(cache, [1, 2, 3], 10)
    insert(cache, [1, 2, 4], 20)
    insert(cache, [5], 30)
    cache.match([1, 2, 3])
    assert list(cache.evict(1)) == [22]
    assert list(cache.evict(1)) == [30]
    assert list(cache.evict(1)) == [12]
    assert list(cache.evict(1)) == [10, 11]
    assert cache.cached_tokens == 0


def test_a_shared_beginning_outlives_what_follows_it_however_old(make):
    cache = make()
    insert(cache, [1, 2, 3], 10)
    insert(cache, [1, 2, 4], 20)
    assert sorted(cache.evict(2)) == [12, 22]
    assert cache.match([1, 2, 3]).length == 2


def test_only_leaves_go_whatever_the_policy_would_like(make):
    cache = make(evictor=Fifo())
    insert(cache, [1, 2], 10)
    insert(cache, [1, 2, 3], 20)
    insert(cache, [4], 30)
    assert [list(cache.evict(1)) for _ in range(3)] == [[22], [10, 11], [30]]


def test_a_use_of_a_prefix_is_a_use_of_all_its_nodes(make):
    cache = make()
    insert(cache, [1], 10)
    insert(cache, [1, 2], 20)
    other = insert(cache, [9], 30).match
    cache.match([1, 2])
    cache.lock(other)
    assert list(cache.evict(1)) == [21]
    cache.unlock(other)
    assert list(cache.evict(1)) == [30]


def test_evicting_takes_whole_leaves(make):
    cache = make()
    insert(cache, range(10), 10)
    assert list(cache.evict(1)) == list(range(10, 20))


@pytest.mark.parametrize("goal", [0, -1])
def test_evicting_nothing_takes_nothing(make, goal):
    cache = make()
    insert(cache, [1, 2], 10)
    assert list(cache.evict(goal)) == []


def test_a_locked_prefix_stays_whole(make):
    cache = make()
    insert(cache, [1, 2, 3, 4], 10)
    insert(cache, [1, 2, 7], 20)
    match = cache.match([1, 2, 3])
    cache.lock(match)
    assert cache.locked_tokens == 3
    assert sorted(cache.evict(100)) == [13, 22]
    assert (cache.cached_tokens, cache.locked_tokens) == (3, 3)
    assert list(cache.blocks(match)) == [10, 11, 12]
    cache.unlock(match)
    assert cache.locked_tokens == 0
    assert sorted(cache.evict(100)) == [10, 11, 12]


def test_locks_count(make):
    cache = make()
    match = insert(cache, [1, 2]).match
    cache.lock(match)
    cache.lock(match)
    cache.unlock(match)
    assert list(cache.evict(100)) == []
    cache.unlock(match)
    assert list(cache.evict(100)) == [0, 1]


def test_a_cut_keeps_the_locks_of_both_parts(make):
    cache = make()
    match = insert(cache, [1, 2, 3, 4]).match
    cache.lock(match)
    cache.match([1, 2])
    assert [(node.tokens, node.locks) for node in cache.nodes()] == [((1, 2), 1), ((3, 4), 1)]
    cache.unlock(match)
    assert cache.locked_tokens == 0


def test_the_empty_prefix_is_locked_in_vain(make):
    cache = make()
    cache.lock(Match(0, None))
    cache.unlock(Match(0, None))


def test_an_unlocked_prefix_cannot_be_unlocked(make):
    cache = make()
    match = insert(cache, [1, 2]).match
    with pytest.raises(KernelPanic, match="is not locked"):
        cache.unlock(match)


def test_an_evicted_prefix_cannot_be_locked(make):
    cache = make()
    match = insert(cache, [1, 2]).match
    cache.evict(2)
    with pytest.raises(KernelPanic, match="was evicted"):
        cache.lock(match)


def test_a_shown_node_says_how_often_it_is_locked(make):
    cache = make()
    cache.lock(insert(cache, [1, 2]).match)
    assert pretty(cache.nodes(), str) == "└ [1 2]  length 2, locks 1"


# ---- the radix cache alone ------------------------------------------------------------------------


def test_a_span_is_where_a_node_lies_in_its_sequences():
    cache = RadixCache(1, Lru())
    insert(cache, [1, 2, 3, 4, 5])
    insert(cache, [1, 2, 9])
    assert cache.span(cache.match([1, 2]).node) == range(2)
    assert cache.span(cache.match([1, 2, 3, 4, 5]).node) == range(2, 5)


def test_nothing_of_an_empty_namespace_remains():
    cache = RadixCache(1, Lru())
    for number in range(10):
        cache.match([1], f"asked for {number}")
        insert(cache, [1], 0, f"used {number}")
    cache.evict(10)
    assert cache._roots == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda cache, leaf: setattr(cache, "cached_tokens", 1),
        lambda cache, leaf: setattr(cache, "locked_tokens", 1),
        lambda cache, leaf: leaf.blocks.pop(),
        lambda cache, leaf: leaf.parent.children.clear(),
        lambda cache, leaf: setattr(leaf, "locks", 1) or setattr(cache, "locked_tokens", 1),
        lambda cache, leaf: setattr(leaf, "id", 99),
        lambda cache, leaf: cache._nodes.pop(leaf.parent.id) and setattr(cache, "cached_tokens", 2),
    ],
)
def test_the_audit_sees_damage(damage):
    cache = RadixCache(1, Lru())
    insert(cache, [1, 2])
    insert(cache, [1, 3])
    cache.audit()
    damage(cache, cache._nodes[cache.match([1, 3]).node])
    with pytest.raises(KernelPanic, match="audit"):
        cache.audit()
