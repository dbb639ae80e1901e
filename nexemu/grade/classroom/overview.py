"""The class at a glance: one HTML page without scripts, fonts or anything else from elsewhere."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from nexemu.grade.classroom.results import Result
from nexemu.grade.classroom.similar import Pair
from nexemu.grade.report.text import counted
from nexemu.grade.rubric import Rubric

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } td, th { padding: .15rem .6rem .15rem 0; text-align: left }
td.n, th.n { text-align: right; white-space: nowrap }
tr { border-bottom: 1px solid #8884; vertical-align: top } :root { color-scheme: light dark }
.bar { background: #4a7ebb; height: .8rem; display: inline-block } .lost { background: #c0504d }
pre { white-space: pre-wrap; margin: .2rem 0 .6rem; font-size: 13px } summary { cursor: pointer }
"""
STEPS: Final = 10
WIDEST: Final = 20
"""The longest bar, in rem."""


def as_html(results: Sequence[Result], rubric: Rubric, pairs: Sequence[Pair]) -> str:
    """The page."""
    body = [
        f"<h1>{escape(rubric.title)}</h1>",
        f"<p>{counted(len(results), 'submission')}, {counted(rubric.points, 'point')}{_without(results)}</p>",
        "<h2>Scores</h2>",
        *_distribution(results, rubric),
        "<h2>Tests, by how many lost them</h2>",
        *_tests(results, rubric),
        *_similar(pairs),
        "<h2>Submissions</h2>",
        *_submissions(results),
    ]
    head = f'<meta charset="utf-8"><title>{escape(rubric.title)}</title><style>{STYLE}</style>'
    return "\n".join(
        ["<!doctype html>", f'<html lang="en"><head>{head}</head><body>', *body, "</body></html>"]
    )


def _without(results: Sequence[Result]) -> str:
    """How many of the lost tests were never a question."""
    problems = sum(bool(result.get("problem")) for result in results)
    return f"; {problems} could not be read or loaded, and lost every test" if problems else ""


def _bar(part: int, whole: int, kind: str = "bar") -> str:
    return f'<span class="{kind}" style="width: {WIDEST * part / max(1, whole):.2f}rem"></span>'


def _distribution(results: Sequence[Result], rubric: Rubric) -> Iterator[str]:
    """How many reached which tenth of the points, or which number where there are fewer than ten."""
    most = max(1, rubric.points)
    steps = min(STEPS, most)
    reached = Counter(min(steps, result["score"] * steps // most) for result in results)
    tallest = max(reached.values(), default=1)
    yield "<table>"
    for step in range(steps + 1):
        least, last = -(-step * most // steps), min(most, -(-(step + 1) * most // steps) - 1)
        name = f"{least}" if least == last else f"{least} to {last}"
        count = reached[step]
        yield f'<tr><td class="n">{name}</td><td class="n">{count}</td><td>{_bar(count, tallest)}</td></tr>'
    yield "</table>"


def _tests(results: Sequence[Result], rubric: Rubric) -> Iterator[str]:
    """Which tests the class has lost."""
    passed = Counter(test["name"] for result in results for test in result["tests"] if test["passed"])
    rows = sorted(rubric.tests, key=lambda test: passed[test.name])
    yield '<table><tr><th>test</th><th class="n">points</th><th class="n">lost by</th><th></th></tr>'
    for test in rows:
        lost = len(results) - passed[test.name]
        bar = _bar(lost, len(results), "bar lost")
        numbers = f'<td class="n">{test.points}</td><td class="n">{lost}</td>'
        yield f'<tr><td title="{escape(test.about)}">{escape(test.name)}</td>{numbers}<td>{bar}</td></tr>'
    yield "</table>"


def _similar(pairs: Sequence[Pair]) -> Iterator[str]:
    if not pairs:
        return
    yield "<h2>Suspiciously equal</h2><table>"
    for pair in pairs:
        names = f"<td>{escape(pair.first)}</td><td>{escape(pair.second)}</td>"
        yield f'<tr><td class="n">{pair.similarity:.0%}</td>{names}</tr>'
    yield "</table>"


def _submissions(results: Sequence[Result]) -> Iterator[str]:
    """Every submission, with the reasons for its lost points folded away."""
    yield "<table>"
    for result in results:
        name, score = escape(result["handler"]), f"{result['score']}/{result['points']}"
        reasons = "".join(_reason(test) for test in result["tests"] if not test["passed"])
        problem = escape(result.get("problem", ""))
        if reasons and not problem:
            problem = f"<details><summary>{reasons.count('<dt>')} lost</summary><dl>{reasons}</dl></details>"
        yield f'<tr><td>{name}</td><td class="n">{score}</td><td>{problem}</td></tr>'
    yield "</table>"


def _reason(test: Result) -> str:
    told = f"expected  {test.get('expected', '')}\nhappened  {test.get('happened', '')}"
    return f"<dt>{escape(test['name'])} ({test['points']})</dt><dd><pre>{escape(told)}</pre></dd>"
