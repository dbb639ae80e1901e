"""``nexemu abi``: the system calls, as a page for people.

docs/ABI.md is what this prints; a test keeps the two equal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Final, get_args, get_type_hints

import typer

from nexemu.abi import CONTRACTS
from nexemu.param import Limits
from nexemu.personality import NEXOS, XV6, Personality

app = typer.Typer(add_completion=False)

INTRODUCTION: Final = """\
# System calls

Written by `nexemu abi` out of `nexemu/abi.py` and `nexemu/personality.py`; edit those instead.

The number goes into a7, arguments into a0 to a5, the result comes back in a0, and every other
register keeps its value. An `int` is the low 32 bits of its register, sign-extended. Every failure
is -1 and changes nothing that the last column does not say; a bad pointer, wherever it
points, is such a failure and never more.
"""


@app.command()
def abi() -> None:
    """Print the system calls of both personalities, with their results and errors."""
    print(page(), end="")


def page() -> str:
    """The whole page, in Markdown."""
    calls = [f"{_heading(personality)}\n{_calls(personality)}" for personality in (NEXOS, XV6)]
    return "\n".join([INTRODUCTION, *calls, _limits(), _differences()])


def _heading(personality: Personality) -> str:
    note = "; `--one-argument-sbrk` for programs from before 2025" if personality is XV6 else ""
    return f"## `--abi {personality.name}`{note}\n"


def _calls(personality: Personality) -> str:
    rows = (
        (str(row.number), f"`{row.c_declaration().rstrip(';')}`", contract.returns, contract.errors)
        for row in personality.calls
        for contract in [CONTRACTS[row.name]]
    )
    return _table(("no", "call", "result", "-1 when"), rows)


def _limits() -> str:
    rows = (
        (field.name, f"{getattr(NEXOS.limits, field.name):,}", f"{getattr(XV6.limits, field.name):,}")
        for field in fields(Limits)
    )
    return "## Limits\n\n" + _table(("limit", NEXOS.name, XV6.name), rows)


def _differences() -> str:
    hints = get_type_hints(Personality, include_extras=True)
    rows = (
        (f"`{name}`", _value(getattr(NEXOS, name)), _value(getattr(XV6, name)), get_args(hint)[1])
        for name, hint in hints.items()
        if hasattr(hint, "__metadata__")
    )
    return "## Differences\n\n" + _table(("field", NEXOS.name, XV6.name, "when it is so"), rows)


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(part.decode() for part in value) or "nothing"
    return "yes" if value else "no"


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
