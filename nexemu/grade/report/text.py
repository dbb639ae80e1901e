"""A grade as lines of text, in the manner of xv6's ``make grade``."""

from collections.abc import Iterator

from nexemu.grade.grader import Report, Verdict
from nexemu.grade.rubric import Rubric

INDENT = "     "


def verdict_lines(verdict: Verdict, verbose: bool, show_hidden: bool) -> Iterator[str]:
    """One line for the verdict, and where points were lost why; ``verbose`` adds what the test is about, and
    what the handler printed. Of a hidden test only the first line is given, unless ``show_hidden``."""
    test, failure = verdict.test, verdict.failure
    yield f"== {test.name} == {'FAIL' if failure else 'OK'} ({verdict.points}/{test.points})"
    if not (test.visible or show_hidden):
        return
    if verbose:
        yield from block("about", test.about)
    if failure:
        yield from block("expected", failure.expected)
        yield from block("happened", failure.happened)
        yield from block("before", "\n".join(failure.before))
        yield from block("contract", failure.hint)
    if verbose or failure:
        yield from block("printed", verdict.output.rstrip())


def block(title: str, text: str) -> Iterator[str]:
    """``text`` with ``title`` before its first line; nothing for nothing."""
    for number, line in enumerate(text.splitlines()):
        yield f"{INDENT}{title if number == 0 else '':<9} {line}".rstrip()


def score_line(report: Report) -> str:
    """The last line."""
    return f"Score: {report.score}/{report.points}"


def list_lines(rubric: Rubric) -> Iterator[str]:
    """What the tests are, for ``--list``."""
    for test in rubric.tests:
        hidden = "" if test.visible else ", hidden"
        yield f"{test.name} ({test.points}{hidden})"
        yield f"{INDENT}{test.about}"
    yield f"{counted(len(rubric.tests), 'test')}, {counted(rubric.points, 'point')}"


def counted(count: int, what: str) -> str:
    """``count`` of ``what``, in words.

    >>> counted(1, "test"), counted(53, "test")
    ('1 test', '53 tests')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"
