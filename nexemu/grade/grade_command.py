"""``nexemu grade``: one handler, one line a test, and the reason for every lost point."""

from pathlib import Path
from typing import Annotated

import typer

from nexemu.errors import OperatorError
from nexemu.grade.contestant import BuiltIn, Contestant, Submission
from nexemu.grade.grader import Report, Verdict, grade
from nexemu.grade.report.formats import as_gradescope, as_json, as_junit
from nexemu.grade.report.text import list_lines, score_line, verdict_lines
from nexemu.grade.rubric import DEFAULT, Rubric, read_rubric
from nexemu.grade.sandbox.limits import protect_this_process
from nexemu.grade.student.local import read_handler

File = Annotated[
    Path | None, typer.Argument(help="A handler.py, or the folder it is in; without one, the kernel's own.")
]
Only = Annotated[str | None, typer.Option(help="Only the tests with this in their name, e.g. cow.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say what each test is about; show prints.")]
Json = Annotated[bool, typer.Option("--json", help="Print the grade as JSON instead.")]
Junit = Annotated[Path | None, typer.Option(help="Also write the grade to this file, as JUnit's XML.")]
Gradescope = Annotated[Path | None, typer.Option(help="Also write it to this file, as Gradescope's JSON.")]
RubricFile = Annotated[Path, typer.Option("--rubric", help="The tests and their points.", show_default=False)]
ShowHidden = Annotated[bool, typer.Option("--show-hidden", help="Explain hidden tests as well.")]
List = Annotated[bool, typer.Option("--list", help="List the tests instead.")]

app = typer.Typer(add_completion=False)


@app.command()
def grade_command(
    file: File = None,
    only: Only = None,
    verbose: Verbose = False,
    json: Json = False,
    junit: Junit = None,
    gradescope: Gradescope = None,
    rubric: RubricFile = DEFAULT,
    show_hidden: ShowHidden = False,
    list_tests: List = False,
) -> None:
    """Grade a handler. The exit status is 0 when every point was earned, else 1."""
    tests = read_rubric(rubric)
    if only is not None:
        tests = tests.only(only)
    if list_tests:
        print("\n".join(list_lines(tests)))
        return
    report = _graded(file, tests, quiet=json, verbose=verbose, show_hidden=show_hidden)
    print(as_json(report, show_hidden) if json else score_line(report))
    if junit is not None:
        _write(junit, as_junit(report, show_hidden))
    if gradescope is not None:
        _write(gradescope, as_gradescope(report))
    raise typer.Exit(report.score != report.points)


def _graded(file: Path | None, tests: Rubric, quiet: bool, verbose: bool, show_hidden: bool) -> Report:
    contestant: Contestant = BuiltIn()
    if file is not None:
        contestant = Submission(str(file), read_handler(file), "handler.py" if file.is_dir() else file.name)
    protect_this_process()

    def tell(verdict: Verdict) -> None:
        if not quiet:
            print("\n".join(verdict_lines(verdict, verbose, show_hidden)), flush=True)

    return grade(contestant, tests, tell)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise OperatorError(f"{path}: {error.strerror}; name a file that can be written") from error
