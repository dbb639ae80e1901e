"""Keep events, and share them out.

For tests and graders, which ask afterwards what happened; and for whoever wants several
listeners where the machine knows one emitter.
"""

from collections.abc import Sequence
from typing import TypeVar

from nexemu.events import Emit, Event

E = TypeVar("E", bound=Event)


class Recorder:
    """An emitter that remembers everything, in order.

    >>> from nexemu.events import Reap
    >>> recorder = Recorder()
    >>> recorder(Reap(parent=3, child=4))
    >>> recorder.of(Reap)
    [Reap(parent=3, child=4)]
    """

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]


def fan_out(listeners: Sequence[Emit]) -> Emit | None:
    """One emitter that tells all ``listeners``, in their order; None for none, so that an unwatched
    machine does not build events that nobody sees."""
    if len(listeners) <= 1:
        return listeners[0] if listeners else None

    def emit(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return emit
