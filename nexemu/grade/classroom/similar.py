"""Which submissions are suspiciously equal.

Names, numbers, strings, comments and layout are taken away; what is left is compared in pieces of a
few tokens, without those that the starter has as well. A number near 1 means the same program in
other words. It is a reason to look, not a verdict: short solutions of one exercise are alike.
"""

import ast
import io
import keyword
import tokenize
from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from nexemu.grade.classroom.submissions import HandedIn
from nexemu.grade.new_command import STARTER

PIECE: Final = 8
"""Tokens that are compared at a time."""
SUSPICIOUS: Final = 0.8
FEWEST: Final = 30
"""Pieces of its own that a submission must have to be compared: the untouched starter has none."""


Piece: TypeAlias = tuple[str, ...]


class Pair(NamedTuple):
    """Two submissions, and which part of their pieces they have in common."""

    first: str
    second: str
    similarity: float


def similar_pairs(handed_in: Sequence[HandedIn]) -> list[Pair]:
    """The pairs that are SUSPICIOUS, the most equal first."""
    starter = pieces((STARTER / "handler.py").read_text(encoding="utf-8"))
    own = {each.name: pieces(each.text) - starter for each in handed_in if each.text is not None}
    compared = {name: found for name, found in own.items() if len(found) >= FEWEST}
    pairs = [
        Pair(first, second, len(compared[first] & compared[second]) / len(compared[first] | compared[second]))
        for first, second in combinations(compared, 2)
    ]
    return sorted(
        (pair for pair in pairs if pair.similarity >= SUSPICIOUS), key=lambda pair: -pair.similarity
    )


def pieces(text: str) -> frozenset[Piece]:
    """Every run of PIECE tokens of ``text``."""
    tokens = normalised(text)
    return frozenset(tuple(tokens[at : at + PIECE]) for at in range(max(0, len(tokens) - PIECE + 1)))


def normalised(text: str) -> list[str]:
    """The tokens of ``text`` without what is easily changed. Names that follow a dot stay: they are the
    kernel's. Text that is no Python ends where it stops being so."""
    found: list[str] = []
    try:
        source = ast.unparse(_without_docstrings(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        source = text
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            shown = _shown(token, found[-1:] == ["."])
            if shown:
                found.append(shown)
    except (tokenize.TokenError, SyntaxError):
        return found
    return found


def _shown(token: tokenize.TokenInfo, after_dot: bool) -> str:
    if token.type == tokenize.NAME:
        return token.string if after_dot or keyword.iskeyword(token.string) else "name"
    if token.type == tokenize.NUMBER:
        return "0"
    if token.type == tokenize.STRING:
        return '""'
    return token.string if token.type == tokenize.OP else ""


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return tree
