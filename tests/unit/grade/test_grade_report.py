"""A grade, for people and for programs."""

import json
from xml.etree.ElementTree import fromstring

import pytest

from nexemu.grade.checks.catalogue import CATALOGUE
from nexemu.grade.grader import Failure, Report, Verdict
from nexemu.grade.report.formats import as_gradescope, as_json, as_junit
from nexemu.grade.report.text import counted, list_lines, score_line, verdict_lines
from nexemu.grade.rubric import Rubric, Test

CHECK = CATALOGUE["lazy: sbrk maps nothing"]
WHY = Failure("pages: 0", "pages: 64\nthat is <many>", ("pid 3: ecall", "  sbrk"), "sbrk: a promise")


def row(name, points, visible=True):
    return Test(name, points, CHECK, "a hint", visible)


@pytest.fixture
def report():
    return Report(
        "mylab",
        (
            Verdict(row("first", 3), None, "my print\n"),
            Verdict(row("second", 4), WHY, "other print"),
            Verdict(row("secret", 5, visible=False), WHY, "secret print"),
        ),
    )


def test_points_are_all_or_nothing(report):
    assert (report.score, report.points) == (3, 12)
    assert score_line(report) == "Score: 3/12"


def lines(verdict, verbose=False, show_hidden=False):
    return list(verdict_lines(verdict, verbose, show_hidden))


def test_a_test_that_passed_takes_one_line(report):
    assert lines(report.verdicts[0]) == ["== first == OK (3/3)"]


def test_a_lost_test_says_why(report):
    assert lines(report.verdicts[1]) == [
        "== second == FAIL (0/4)",
        "     expected  pages: 0",
        "     happened  pages: 64",
        "               that is <many>",
        "     before    pid 3: ecall",
        "                 sbrk",
        "     contract  sbrk: a promise",
        "     printed   other print",
    ]


def test_a_hidden_test_says_nothing_more(report):
    assert lines(report.verdicts[2], verbose=True) == ["== secret == FAIL (0/5)"]
    assert "     printed   secret print" in lines(report.verdicts[2], show_hidden=True)


def test_verbose_says_what_it_is_about_and_what_was_printed(report):
    assert lines(report.verdicts[0], verbose=True) == [
        "== first == OK (3/3)",
        "     about     Growing by 64 pages moves the break, and neither maps a page nor takes a frame.",
        "     printed   my print",
    ]


def test_the_tests_can_be_listed():
    rubric = Rubric("Mine", (row("first", 3), row("secret", 5, visible=False)))
    assert list(list_lines(rubric))[::2] == ["first (3)", "secret (5, hidden)", "2 tests, 8 points"]


def test_json(report):
    grades = json.loads(as_json(report, show_hidden=False))
    assert (grades["handler"], grades["score"], grades["points"]) == ("mylab", 3, 12)
    first, second, secret = grades["tests"]
    assert first == {
        "name": "first",
        "points": 3,
        "earned": 3,
        "passed": True,
        "visible": True,
        "printed": "my print\n",
    }
    assert second["before"] == ["pid 3: ecall", "  sbrk"]
    assert secret == {"name": "secret", "points": 5, "earned": 0, "passed": False, "visible": False}
    assert json.loads(as_json(report, show_hidden=True))["tests"][2]["expected"] == "pages: 0"


def test_junit(report):
    suite = fromstring(as_junit(report, show_hidden=False))
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.get("name") for case in suite] == ["first", "second", "secret"]
    assert suite[0].find("failure") is None
    assert "that is <many>" in suite[1].find("failure").text
    assert suite[2].find("failure").get("message") == "hidden"
    assert not suite[2].find("failure").text


def test_gradescope_hides_what_is_hidden_itself(report):
    grades = json.loads(as_gradescope(report))
    assert grades["score"] == 3
    assert [test["visibility"] for test in grades["tests"]] == ["visible", "visible", "hidden"]
    assert [(test["score"], test["max_score"], test["status"]) for test in grades["tests"]] == [
        (3, 3, "passed"),
        (0, 4, "failed"),
        (0, 5, "failed"),
    ]
    assert "expected  pages: 0" in grades["tests"][2]["output"]


def test_one_is_not_plural():
    assert (counted(1, "test"), counted(0, "point"), counted(53, "test")) == (
        "1 test",
        "0 points",
        "53 tests",
    )
