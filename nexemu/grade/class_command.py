"""``nexemu grade-all``: a class, graded; the results in one folder."""

import csv
import io
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nexemu.errors import OperatorError
from nexemu.grade.classroom.job import Job, broken
from nexemu.grade.classroom.overview import as_html
from nexemu.grade.classroom.pool import here, on_cluster, run_jobs
from nexemu.grade.classroom.results import Result, ResultsFolder, as_csv, cells
from nexemu.grade.classroom.similar import Pair, similar_pairs
from nexemu.grade.classroom.submissions import HandedIn, collect
from nexemu.grade.report.text import counted
from nexemu.grade.rubric import DEFAULT, Rubric, read_rubric
from nexemu.grade.sandbox.process import printable

Submissions = Annotated[Path, typer.Argument(help="A folder of folders, zips and .py files, one a student.")]
Out = Annotated[Path, typer.Option(help="The folder for the results; a run that was killed goes on there.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Submissions at a time; all cores without it.")]
RubricFile = Annotated[Path, typer.Option("--rubric", help="The tests and their points.", show_default=False)]
Similar = Annotated[bool, typer.Option("--similar", help="List pairs that are suspiciously equal.")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Grade on this Dask cluster instead.")]

MOST_PAIRS: Final = 20
"""Equal pairs that are printed; the files have all."""

app = typer.Typer(add_completion=False)


@app.command()
def grade_all(
    submissions: Submissions,
    out: Out,
    jobs: Jobs = None,
    rubric: RubricFile = DEFAULT,
    similar: Similar = False,
    dask: Dask = None,
) -> None:
    """Grade every handler in a folder: results.csv, overview.html, and a JSON file for each."""
    if jobs is not None and dask is not None:
        raise OperatorError("give either --jobs or --dask: a cluster knows its own size")
    tests = read_rubric(rubric)
    handed_in = collect(submissions, out)
    folder = ResultsFolder(out)
    where = here(jobs) if dask is None else on_cluster(dask)
    results = _results(handed_in, str(rubric.resolve()) if rubric != DEFAULT else "", tests, folder, where)
    pairs = similar_pairs(handed_in) if similar else []
    folder.write("results.csv", as_csv(results, tests))
    folder.write("overview.html", as_html(results, tests, pairs))
    if similar:
        folder.write("similar.csv", similar_csv(pairs))
    print_summary(results, pairs, out)


def _results(
    handed_in: Sequence[HandedIn],
    rubric: str,
    tests: Rubric,
    folder: ResultsFolder,
    where: AbstractContextManager[Executor],
) -> list[Result]:
    """One result a submission, in their order; those that are known already are not graded again."""
    found: dict[str, Result] = {}
    jobs = []
    for each in handed_in:
        if each.text is None:
            found[each.name] = broken(each, tests)
            folder.keep(found[each.name])
            continue
        job = Job(each.name, each.text, rubric)
        earlier = folder.earlier(job)
        if earlier is None:
            jobs.append(job)
        else:
            found[each.name] = earlier
    with where as executor, _progress() as progress:
        task = progress.add_task("grading", total=len(handed_in), completed=len(found))

        def tell(result: Result) -> None:
            folder.keep(result)
            found[result["handler"]] = result
            progress.advance(task)

        run_jobs(jobs, executor, tell)
    return [found[each.name] for each in handed_in]


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))


def similar_csv(pairs: Sequence[Pair]) -> str:
    """All pairs as a table."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["similarity", "first", "second"])
    table.writerows(cells([f"{pair.similarity:.2f}", pair.first, pair.second]) for pair in pairs)
    return out.getvalue().rstrip("\n")


def _shown(text: str) -> str:
    """Names of files can hold anything; a terminal should see letters only, and one line."""
    return printable(text.encode()).replace("\n", "\ufffd")


def print_summary(results: Sequence[Result], pairs: Sequence[Pair], out: Path) -> None:
    """A line for each result, and for each of the most equal pairs; last, where everything is."""
    for result in results:
        score, name = f"{result['score']:>4}/{result['points']}", _shown(result["handler"])
        print(f"{score}  {name}  {_shown(result.get('problem', ''))}".rstrip())
    for pair in pairs[:MOST_PAIRS]:
        print(f"{pair.similarity:>4.0%} equal: {_shown(pair.first)} and {_shown(pair.second)}")
    if len(pairs) > MOST_PAIRS:
        print(f"and {len(pairs) - MOST_PAIRS} more pairs: {out / 'similar.csv'}")
    print(f"{counted(len(results), 'submission')}: {out / 'results.csv'}, {out / 'overview.html'}")
