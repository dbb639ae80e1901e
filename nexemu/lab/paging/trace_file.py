"""Reading back what ``nexemu run --trace`` wrote: one event a line, as JSON.

A machine that was killed leaves a trace that may end in the middle of a line; it is read up to there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from json import JSONDecoder
from pathlib import Path
from typing import Any, Final, NamedTuple

from nexemu.errors import OperatorError
from nexemu.events import HEXADECIMAL, Event, Exec, Exit, Fork, PageFault, Sbrk
from nexemu.lab.experiment import Steps


class Shape(NamedTuple):
    """What an event of some kind looks like in a trace, and how to make it: the types of its fields, and the
    names of those that are hexadecimal there."""

    make: Callable[[Iterable[Any]], Event]
    types: list[type]
    hexadecimal: frozenset[str]


def _shape(kind: Any) -> Shape:
    types = kind.__annotations__
    return Shape(kind._make, [*types.values()], HEXADECIMAL & types.keys())


WATCHED: Final[Mapping[str, Shape]] = {
    kind.__name__: _shape(kind) for kind in (PageFault, Sbrk, Fork, Exec, Exit)
}
"""The kinds of events that change what a process has of memory, by their names in a trace."""

BLOCK: Final = 1 << 20
"""Characters that are read at a time: few enough for a bar to move."""

DECODER: Final = JSONDecoder()


def read_trace(path: Path, steps: Steps) -> Iterator[Event]:
    """Those events of the trace at ``path`` that are watched, in their order. Raises OperatorError where it
    is no trace."""
    number = 0
    for number, line in enumerate(_lines(path, steps), start=1):
        try:
            event = _event(line)
        except (TypeError, ValueError) as error:
            if number > 1 and not line.endswith("\n"):
                return
            raise _refusal(path, f"line {number} is no event") from error
        if event is not None:
            yield event
    if not number:
        raise _refusal(path, "it is empty")


def _lines(path: Path, steps: Steps) -> Iterator[str]:
    try:
        with path.open(encoding="ascii") as file:
            for _ in steps(f"reading {path.name}", range(0, path.stat().st_size, BLOCK)):
                yield from file.readlines(BLOCK)
    except OSError as error:
        raise _refusal(path, f"{error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _refusal(path, "no trace, but something else") from error


def _refusal(path: Path, what: str) -> OperatorError:
    return OperatorError(f"{path}: {what}; `nexemu run --trace FILE -- PROGRAM` writes a trace")


def _event(line: str) -> Event | None:
    """The event in ``line``; None if it is of a kind that is not watched. Raises ValueError or TypeError
    where there is none."""
    fields, _ = DECODER.raw_decode(line)
    if not isinstance(fields, dict) or "event" not in fields:
        raise ValueError("a line of a trace names its event")
    shape = WATCHED.get(fields.pop("event"))
    if shape is None:
        return None
    for name in shape.hexadecimal:
        fields[name] = int(fields.get(name, ""), 16)
    if [*map(type, fields.values())] != shape.types:
        raise ValueError("the event has other fields than its kind")
    return shape.make(fields.values())
