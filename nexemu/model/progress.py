"""Words and bars for the person who waits, on standard error: standard output is the guest's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Advance: TypeAlias = Callable[[], None]
"""Called after each step of a known number."""


def say(text: str) -> None:
    """One line, as it is."""
    Console(stderr=True, soft_wrap=True).print(text, markup=False, highlight=False)


@contextmanager
def bar(title: str, steps: int) -> Iterator[Advance]:
    """Show a bar of ``steps`` steps while the block runs; off a terminal, only its last state."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=steps)

        def advance() -> None:
            progress.advance(task)

        yield advance
