"""A check's expectations, in words."""

from collections.abc import Callable
from typing import Any

from nexemu.riscv import Cause


class Lost(Exception):
    """An expectation was not met: the points of this check are lost."""

    def __init__(self, expected: str, happened: str) -> None:
        super().__init__(f"expected {expected}, happened {happened}")
        self.expected = expected
        self.happened = happened


class Killed:
    """What an instruction or a system call gives when its process dies of it."""

    __slots__ = ("cause", "why")

    def __init__(self, cause: int, why: str) -> None:
        self.cause = cause
        self.why = why

    def __str__(self) -> str:
        return f"the process is killed: {self.why}"


def equal(what: str, happened: object, expected: object, show: Callable[[Any], str] = str) -> None:
    """``what`` must be ``expected``."""
    if happened != expected:
        shown = str(happened) if isinstance(happened, Killed) else show(happened)
        raise Lost(f"{what}: {show(expected)}", f"{what}: {shown}")


def true(what: str, holds: bool, otherwise: str) -> None:
    """``what`` must hold; if not, ``otherwise`` is what is the case."""
    if not holds:
        raise Lost(what, otherwise)


def killed(what: str, happened: object, cause: Cause) -> None:
    """``what`` must have killed its process, for the reason that hardware calls ``cause``."""
    wanted = f"{what} is a {cause.name.lower().replace('_', ' ')} that kills the process"
    if not isinstance(happened, Killed):
        raise Lost(wanted, f"the process lives on (result {happened})")
    if happened.cause != cause:
        raise Lost(wanted, str(happened))


def head(page: bytes) -> str:
    """The first bytes of a page, for people."""
    return f"{page[:16].hex(' ')} ..."
