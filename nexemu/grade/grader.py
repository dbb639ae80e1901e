"""One handler, graded: every test of a rubric in a machine and a sandbox of its own.

The verdict is computed here, in the process that owns the machine, from the machine's memory and
events. The handler's process delivers nothing to it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nexemu.errors import KernelPanic, OperatorError
from nexemu.grade.checks.check import Check
from nexemu.grade.contestant import Contestant, Entry
from nexemu.grade.guest_test import run_guest
from nexemu.grade.rubric import Rubric, Test
from nexemu.grade.student.source import HandlerFailed
from nexemu.grade.testbed.expect import Lost
from nexemu.grade.testbed.journal import Journal
from nexemu.grade.testbed.testbed import Testbed

MOST_LETTERS: Final = 4000
"""Of one explanation; the rest would only be a longer list of the same."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why points were lost. ``before`` are the last events, ``hint`` the part of the contract at stake."""

    expected: str
    happened: str
    before: tuple[str, ...]
    hint: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One test's result. ``output`` is what the handler printed, which proves nothing."""

    test: Test
    failure: Failure | None
    output: str = ""

    @property
    def points(self) -> int:
        """What was earned: all or nothing."""
        return 0 if self.failure else self.test.points


@dataclass(frozen=True, slots=True)
class Report:
    """A graded handler. ``problem`` says in a line why nothing could be earned, where that is so."""

    name: str
    verdicts: tuple[Verdict, ...]
    problem: str = ""

    @property
    def score(self) -> int:
        """What was earned in all."""
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def points(self) -> int:
        """What could be earned."""
        return sum(verdict.test.points for verdict in self.verdicts)


def grade(contestant: Contestant, rubric: Rubric, tell: Callable[[Verdict], None]) -> Report:
    """Run every test of ``rubric`` on ``contestant``; ``tell`` hears each verdict at once."""
    verdicts = []
    why_not = _cannot_enter(contestant)
    for test in rubric.tests:
        verdict = Verdict(test, why_not) if why_not else judge(contestant, test)
        verdicts.append(verdict)
        tell(verdict)
    problem = f"cannot be loaded: {why_not.happened.splitlines()[-1]}" if why_not else ""
    return Report(contestant.name, tuple(verdicts), problem)


def judge(contestant: Contestant, test: Test) -> Verdict:
    """Run one test, in a machine and a sandbox of its own."""
    journal = Journal()
    failure = entry = None
    try:
        with contestant.enter() as entry:
            _play(test, entry, journal)
    except HandlerFailed as error:
        failure = _explain(error, test, journal)
    except OperatorError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a handler brings about costs its point, no more
        failure = _explain(error, test, journal)
    return Verdict(test, failure, entry.output if entry is not None else "")


def _play(test: Test, entry: Entry, journal: Journal) -> None:
    if isinstance(test.what, Check):
        test.what.scene(Testbed(entry.make_handler, journal, test.what.frames, test.what.nproc))
    else:
        run_guest(test.what, entry.make_handler, journal)


def _cannot_enter(contestant: Contestant) -> Failure | None:
    """Why no test can be run, if that is so: it is tried once instead of in every test."""
    try:
        with contestant.enter():
            return None
    except HandlerFailed as error:
        return Failure("the handler can be loaded", str(error)[:MOST_LETTERS], (), "the six functions")


def _explain(error: Exception, test: Test, journal: Journal) -> Failure:
    """A failure in words."""
    before = tuple(journal.lines)
    match error:
        case Lost():
            expected, happened = error.expected, error.happened
        case HandlerFailed():
            expected, happened = "the handler returns, and has done its part", str(error)
        case KernelPanic() if str(error).startswith("audit"):
            expected, happened = "each frame's count is the number of its holders", str(error)
        case KernelPanic():
            expected, happened = "the kernel goes on", f"panic: {error}"
        case _:
            expected, happened = "the kernel goes on", f"it breaks: {type(error).__name__}: {error}"
    return Failure(expected[:MOST_LETTERS], happened[:MOST_LETTERS], before, test.hint)
