"""A bar for whoever waits, on standard error; nothing where nobody watches."""

from collections.abc import Collection, Iterable, Iterator
from time import monotonic
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import Progress

T = TypeVar("T")

PATIENCE_S: Final = 1.0
"""How long nobody minds to wait without a word."""


def with_a_bar(title: str, items: Iterable[T]) -> Iterator[T]:
    """The items, and a bar that appears once they have taken a second. It leaves no trace."""
    progress = Progress(console=Console(stderr=True), transient=True)
    total = len(items) if isinstance(items, Collection) else None
    task = progress.add_task(title, total=total)
    begun = monotonic()
    try:
        for item in items:
            yield item
            progress.advance(task)
            if (
                not progress.live.is_started
                and monotonic() - begun > PATIENCE_S
                and progress.console.is_terminal
            ):
                progress.start()
    finally:
        if progress.live.is_started:
            progress.stop()
