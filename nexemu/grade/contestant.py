"""Who is graded: a handler's text in a sandbox, or the kernel's own handler.

A contestant enters anew for every test, and leaves nothing of one behind for the next.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from nexemu.events import Emit
from nexemu.grade.sandbox.student import SandboxedStudent
from nexemu.grade.student.adapter import handler_of
from nexemu.mem.builtin import BUILTIN
from nexemu.mem.vm import Handler


class Entry(Protocol):
    """A contestant who is there for one test."""

    @property
    def output(self) -> str:
        """What it has printed; complete when the test is over."""

    def make_handler(self, emit: Emit) -> Handler:
        """The handler of the test's machine; ``emit`` is told what it does."""


class Contestant(Protocol):
    """Somebody who can be graded."""

    @property
    def name(self) -> str:
        """Whose grade it will be."""

    def enter(self) -> AbstractContextManager[Entry]:
        """Be there for one test. Raises HandlerFailed when that is impossible."""


class _BuiltInEntry:
    output = ""

    def make_handler(self, emit: Emit) -> Handler:
        return BUILTIN


class BuiltIn:
    """The kernel's own handler, in this process."""

    name = "the kernel's own handler"

    def enter(self) -> AbstractContextManager[Entry]:
        """It is always there."""
        return nullcontext(_BuiltInEntry())


@dataclass(frozen=True, slots=True)
class _SandboxedEntry:
    student: SandboxedStudent

    @property
    def output(self) -> str:
        return self.student.output

    def make_handler(self, emit: Emit) -> Handler:
        return handler_of(self.student, emit)


@dataclass(frozen=True, slots=True)
class Submission:
    """The text of a handler.py, to be called ``file``; ``name`` says whose it is."""

    name: str
    text: str
    file: str = "handler.py"

    @contextmanager
    def enter(self) -> Iterator[Entry]:
        """In a fresh sandbox each time."""
        with SandboxedStudent(self.text, self.file) as student:
            yield _SandboxedEntry(student)
