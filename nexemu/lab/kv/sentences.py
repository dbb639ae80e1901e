"""Code 05, demo 1, and exercise 6: a radix tree with words for tokens."""

from typing import Final

from nexemu.evict.lru import Lru
from nexemu.kv.prefix_cache import pretty
from nexemu.kv.radix_cache import RadixCache
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Report, Table

SENTENCES: Final = (
    "you are a helpful assistant . what is paging ?",
    "you are a helpful assistant . what is a radix tree ?",
    "you are a helpful assistant . explain lru caching .",
    "you are a careful reviewer . check this code .",
)
QUERY: Final = "you are a helpful assistant . what is caching ?"

CACHED: Final = (
    "you are a helpful assistant . what is paging ?",
    "you are a careful reviewer .",
)
REQUEST: Final = "you are a helpful assistant . explain paging ."


class Sentences:
    """A radix tree of sentences, and the dictionary of their words."""

    def __init__(self, *sentences: str) -> None:
        self.cache = RadixCache(1, Lru())
        self._words = sorted({word for text in (*sentences, QUERY, REQUEST) for word in text.split()})
        self.total = 0
        for sentence in sentences:
            self.insert(sentence)

    def tokens(self, sentence: str) -> list[int]:
        """A token for each word."""
        return [self._words.index(word) for word in sentence.split()]

    def insert(self, sentence: str) -> int:
        """Cache a sentence; how many of its tokens were there."""
        tokens = self.tokens(sentence)
        self.total += len(tokens)
        return self.cache.insert(tokens, range(len(tokens))).known

    def match(self, sentence: str) -> int:
        """How many tokens of a sentence are there."""
        return self.cache.match(self.tokens(sentence)).length

    def table(self, title: str) -> Table:
        """The tree, a row a node."""
        lines = pretty(self.cache.nodes(), self._words.__getitem__).splitlines()
        return Table(title, ("node", "tokens"), [_row(line) for line in lines])


def _row(line: str) -> tuple[str, int]:
    text, _, length = line.rpartition("  length ")
    return text, int(length)


def four_sentences(trial: Trial) -> Report:
    """The demo: what four sentences share."""
    tree = Sentences(*SENTENCES)
    nodes = sum(1 for _ in tree.cache.nodes())
    return Report(
        "A node is a run of tokens that all who come by share; where two sentences part, it is split. A "
        "request walks down from the root, and what it walks along need not be computed.",
        [tree.table("The tree of four sentences")],
        [
            Check("tokens of four sentences", 42, tree.total),
            Check("tokens stored", 25, tree.cache.cached_tokens),
            Check("nodes", 7, nodes),
            Check(f"tokens that match of: {QUERY}", 8, tree.match(QUERY)),
        ],
    )


def split(trial: Trial) -> Report:
    """The exercise: what a new request finds, and what it does to the tree."""
    tree = Sentences(*CACHED)
    before = tree.table("Before")
    known = tree.insert(REQUEST)
    return Report(
        "The request shares the beginning of a node only. Inserting it splits that node behind what is "
        "shared, and gives the upper half a second child.",
        [before, tree.table("After")],
        [Check(f"tokens that need no prefill of: {REQUEST}", 6, known)],
    )


SENTENCE_TREE: Final = Experiment("The radix tree of four sentences", "code 05, demo 1", four_sentences)
SPLIT: Final = Experiment("A request splits a node", "exercise 6", split)
