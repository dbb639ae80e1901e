"""Events as plain values, the way a trace shows them.

Addresses, page-table entries and pointers are hexadecimal text, everything else is a number or
text as it is; keys stand in the order of the event's fields. Nothing depends on the host, so
the same run gives the same bytes.
"""

from collections.abc import Mapping
from typing import Final

from nexemu.abi import NEXOS, XV6, Prototype
from nexemu.events import HEXADECIMAL, Event, Syscall
from nexemu.riscv import U64

PROTOTYPES: Final[Mapping[str, Prototype]] = {row.name: row for row in (*NEXOS, *XV6)}


def plain(event: Event) -> dict[str, object]:
    """The event's kind and fields, made of what JSON knows."""
    kind: dict[str, object] = {"event": type(event).__name__}
    if isinstance(event, Syscall):
        return kind | _syscall(event)
    fields = event._asdict().items()
    return kind | {name: hex(value) if name in HEXADECIMAL else value for name, value in fields}


def _syscall(event: Syscall) -> dict[str, object]:
    """A call's arguments as its prototype declares them; those of an unknown call in hexadecimal."""
    prototype = PROTOTYPES.get(event.name)
    are_int = [param.is_int for param in prototype.params] if prototype else []
    are_int += [False] * (len(event.args) - len(are_int))
    returns_pointer = prototype is not None and prototype.returns.endswith("*")
    return {
        "pid": event.pid,
        "name": event.name,
        "args": [_value(value, is_int) for value, is_int in zip(event.args, are_int, strict=False)],
        "result": _value(event.result, not returns_pointer),
    }


def _value(value: int, is_int: bool) -> int | str:
    """A register's value: a signed number, or a pointer (-1 is one too) as 64 bits."""
    if not is_int:
        return hex(value & U64)
    return value - (U64 + 1) if value >> 63 == 1 else value
