"""The mutants: the reference handler with ONE fault each, as students really make them.

A mutant is a few replacements in the reference's text. ``meant`` is the test that exists for its
fault; where the fault has no other consequence, ``alone`` says that no other test may be lost. The
table of all losses is in docs/GRADING.md: `python tests/grade_mutants.py` writes it.
"""

import sys
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "grade"
sys.path.insert(0, str(HERE.parent.parent))

from nexemu.grade.grader import grade  # noqa: E402
from nexemu.grade.rubric import read_rubric  # noqa: E402
from nexemu.grade.student.adapter import handler_of  # noqa: E402
from nexemu.grade.student.local import LocalStudent  # noqa: E402

REFERENCE = (HERE / "reference.py").read_text()
GUIDE = HERE.parent.parent / "docs" / "GRADING.md"
BEGIN, END = "<!-- the table of mutants -->", "<!-- the end of the table -->"


@dataclass(frozen=True)
class Mutant:
    """``theme`` is the file that it is from, ``text`` the whole handler."""

    name: str
    theme: str
    fault: str
    text: str
    meant: str
    alone: bool


def read_mutants():
    """All mutants, in the order of their files."""
    return [
        Mutant(row["name"], path.stem, row["fault"], mutated(row), row["meant"], row.get("alone", False))
        for path in sorted((HERE / "mutants").glob("*.toml"))
        for row in tomllib.loads(path.read_text())["mutant"]
    ]


def mutated(row):
    """The reference with the replacements of ``row``; each must fit exactly once."""
    text = REFERENCE
    for old, new in row["change"]:
        assert text.count(old) == 1, f"{row['name']}: {old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
    return text


class InProcess:
    """A handler that is graded without a sandbox, many times faster; for those that we wrote ourselves."""

    output = ""

    def __init__(self, name, text):
        self.name = name
        self._text = text

    @contextmanager
    def enter(self):
        self._student = LocalStudent(self._text, "handler.py", limited=True)
        yield self

    def make_handler(self, emit):
        return handler_of(self._student, emit)


def losses(name, text, rubric):
    """The names of the tests that the handler ``text`` loses."""
    report = grade(InProcess(name, text), rubric, lambda _: None)
    return [verdict.test.name for verdict in report.verdicts if verdict.failure]


def all_losses():
    """Mutant -> the tests that it loses."""
    rubric = read_rubric()
    return {mutant.name: losses(mutant.name, mutant.text, rubric) for mutant in read_mutants()}


def table(lost):
    """The table of mutants and tests as Markdown: tests have numbers, which a list explains."""
    names = [test.name for test in read_rubric().tests]
    lines = [f"{number}. {name}" for number, name in enumerate(names, start=1)]
    lines += ["", "| mutant | fault | points | tests lost |", "| --- | --- | --: | --- |"]
    for mutant in read_mutants():
        numbers = [names.index(name) + 1 for name in lost[mutant.name]]
        points = sum(test.points for test in read_rubric().tests if test.name not in lost[mutant.name])
        shown = " ".join(f"**{n}**" if names[n - 1] == mutant.meant else str(n) for n in numbers)
        lines.append(f"| {mutant.name} | {mutant.fault} | {points} | {shown} |")
    return "\n".join(lines)


def table_in_guide():
    """The table as docs/GRADING.md has it."""
    return GUIDE.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def write_table():
    """Bring docs/GRADING.md up to date."""
    before, _, rest = GUIDE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    GUIDE.write_text(f"{before}{BEGIN}\n\n{table(all_losses())}\n\n{END}{after}")


if __name__ == "__main__":
    write_table()
