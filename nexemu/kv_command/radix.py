"""``nexemu kv radix``: a radix tree of sentences, with words for tokens."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from nexemu.errors import OperatorError
from nexemu.evict import POLICIES, Setup
from nexemu.kv.prefix_cache import pretty
from nexemu.kv.radix_cache import RadixCache
from nexemu.lab.plot import check_can_plot, draw
from nexemu.lab.report import Figure

ONLINE: Final = [name for name, policy in POLICIES.items() if policy.online]

Sentences = Annotated[
    list[str] | None, typer.Argument(help="What to insert; without any, a line of standard input each.")
]
Query = Annotated[list[str] | None, typer.Option(help="Afterwards, see how much of this matches.")]
Lock = Annotated[list[str] | None, typer.Option(help="Lock this prefix, as a running request does.")]
Evict = Annotated[int, typer.Option(min=0, help="Afterwards, evict so many tokens.")]
PolicyName = Annotated[str, typer.Option("--policy", help=f"Who is evicted: {', '.join(ONLINE)}.")]
Page = Annotated[int, typer.Option(min=1, help="Tokens in a page.")]
PlotFile = Annotated[
    Path | None, typer.Option("--plot", help="Draw the tokens stored: a .png, .svg or .html file.")
]


class Tree:
    """A radix tree of sentences. ``inserted`` and ``stored`` are tokens in all, after each sentence."""

    def __init__(self, cache: RadixCache) -> None:
        self.cache = cache
        self.inserted = [0]
        self.stored = [0]
        self._tokens: dict[str, int] = {}
        self._words: list[str] = []

    def tokens(self, sentence: str) -> list[int]:
        """A sentence as tokens: words have numbers in the order in which they came."""
        found = []
        for word in sentence.split():
            if word not in self._tokens:
                self._tokens[word] = len(self._words)
                self._words.append(word)
            found.append(self._tokens[word])
        return found

    def insert(self, sentence: str) -> None:
        """Cache a sentence."""
        tokens = self.tokens(sentence)
        self.cache.insert(tokens, range(len(tokens)))
        self.inserted.append(self.inserted[-1] + len(tokens))
        self.stored.append(self.cache.cached_tokens)

    def text(self) -> str:
        """The tree, a line a node."""
        return pretty(self.cache.nodes(), self._words.__getitem__) or "(empty)"

    def growth(self) -> Figure:
        """Tokens over sentences."""
        lines = {"each on its own": self.inserted, "in the tree": self.stored}
        return Figure("Tokens stored", "sentences", "tokens", range(len(self.stored)), lines)


def radix(
    sentences: Sentences = None,
    query: Query = None,
    lock: Lock = None,
    evict: Evict = 0,
    policy: PolicyName = "lru",
    page: Page = 1,
    plot_file: PlotFile = None,
) -> None:
    """Insert sentences into a radix tree, word by word, and show it."""
    if policy not in ONLINE:
        raise OperatorError(f"--policy {policy}: there are {', '.join(ONLINE)}")
    if plot_file is not None:
        check_can_plot(plot_file)
    tree = Tree(RadixCache(page, POLICIES[policy](Setup(1 << 16))))
    for sentence in sentences or _typed():
        tree.insert(sentence)
    for sentence in lock or []:
        tree.cache.lock(tree.cache.match(tree.tokens(sentence)))
    console = Console()
    _print(console, tree.text())
    console.print(_counts(tree))
    for sentence in query or []:
        tokens = tree.tokens(sentence)
        _print(console, f"{tree.cache.match(tokens).length} of {len(tokens)} tokens match: {sentence}")
    if evict:
        evicted = len(tree.cache.evict(evict)) * page
        _print(console, f"evicted {evicted} tokens, {tree.cache.locked_tokens} are locked:")
        _print(console, tree.text())
    if plot_file is not None:
        draw("nexemu kv radix", [tree.growth()], plot_file)


def _typed() -> list[str]:
    try:
        return sys.stdin.read().splitlines()
    except UnicodeDecodeError as error:
        raise OperatorError("standard input is not text; type a sentence a line") from error


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False)


def _counts(tree: Tree) -> Table:
    table = Table("tokens", "")
    table.add_row("inserted", f"{tree.inserted[-1]:,}")
    table.add_row("stored", f"{tree.stored[-1]:,}")
    table.add_row("nodes", f"{sum(1 for _ in tree.cache.nodes()):,}")
    return table
