"""A grade for other programs: JSON of our own, JUnit's XML, Gradescope's JSON."""

import json
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from nexemu.grade.grader import Report, Verdict
from nexemu.grade.report.text import verdict_lines


def plain(report: Report, show_hidden: bool) -> dict[str, Any]:
    """The grade as plain values. Of hidden tests, explanations are left out unless ``show_hidden``."""
    return {
        "handler": report.name,
        "score": report.score,
        "points": report.points,
        "problem": report.problem,
        "tests": [_test(verdict, show_hidden) for verdict in report.verdicts],
    }


def _test(verdict: Verdict, show_hidden: bool) -> dict[str, Any]:
    test, failure = verdict.test, verdict.failure
    row: dict[str, Any] = {
        "name": test.name,
        "points": test.points,
        "earned": verdict.points,
        "passed": failure is None,
        "visible": test.visible,
    }
    if failure is not None and (test.visible or show_hidden):
        row["expected"], row["happened"] = failure.expected, failure.happened
        row["before"], row["contract"] = list(failure.before), failure.hint
    if verdict.output and (test.visible or show_hidden):
        row["printed"] = verdict.output
    return row


def as_json(report: Report, show_hidden: bool) -> str:
    """``--json``."""
    return json.dumps(plain(report, show_hidden), indent=1, ensure_ascii=False)


def as_junit(report: Report, show_hidden: bool) -> str:
    """``--junit``: a test case a test."""
    lost = sum(verdict.failure is not None for verdict in report.verdicts)
    suite = Element("testsuite", name=report.name, tests=str(len(report.verdicts)), failures=str(lost))
    for verdict in report.verdicts:
        case = SubElement(suite, "testcase", classname="nexemu.grade", name=verdict.test.name)
        if verdict.failure is not None:
            shown = verdict.test.visible or show_hidden
            failure = SubElement(case, "failure", message=verdict.failure.expected if shown else "hidden")
            failure.text = _explanation(verdict, show_hidden)
    indent(suite, " ")
    document: bytes = tostring(suite, encoding="utf-8", xml_declaration=True)
    return document.decode()


def as_gradescope(report: Report) -> str:
    """``--gradescope``: results.json, as Gradescope's autograder reads it. It hides hidden tests itself."""
    tests = [
        {
            "name": verdict.test.name,
            "score": verdict.points,
            "max_score": verdict.test.points,
            "status": "failed" if verdict.failure else "passed",
            "output": _explanation(verdict, show_hidden=True),
            "output_format": "text",
            "visibility": "visible" if verdict.test.visible else "hidden",
        }
        for verdict in report.verdicts
    ]
    return json.dumps({"score": report.score, "tests": tests}, indent=1, ensure_ascii=False)


def _explanation(verdict: Verdict, show_hidden: bool) -> str:
    return "\n".join(list(verdict_lines(verdict, verbose=False, show_hidden=show_hidden))[1:])
