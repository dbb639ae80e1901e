"""Whole grades through the sandbox: the reference, the starter, and the kernel's own handler."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from grade_mutants import REFERENCE, read_mutants

from nexemu.grade.contestant import BuiltIn, Submission
from nexemu.grade.grader import grade
from nexemu.grade.new_command import STARTER
from nexemu.grade.rubric import Rubric, read_rubric

ROOT = Path(__file__).parent.parent.parent


def passed(report):
    return {verdict.test.name for verdict in report.verdicts if not verdict.failure}


@pytest.fixture(scope="module")
def rubric():
    return read_rubric()


def test_the_default_rubric_has_100_points(rubric):
    assert rubric.points == 100


def test_the_kernels_own_handler_gets_them_all(rubric, guests):
    assert grade(BuiltIn(), rubric, lambda _: None).score == 100


@pytest.mark.slow
def test_the_reference_gets_them_all(rubric, guests):
    assert grade(Submission("reference", REFERENCE), rubric, lambda _: None).score == 100


@pytest.mark.slow
def test_the_starter_gets_what_eager_behaviour_earns(rubric, guests):
    report = grade(Submission("starter", (STARTER / "handler.py").read_text()), rubric, lambda _: None)
    assert passed(report) == {test.name for test in rubric.tests if test.eager}
    assert report.score == 30, "the starter's README says so"


@pytest.mark.parametrize(
    "name", ["fork counts nobody", "no TLB flush", "out of memory loops", "the guard page is filled"]
)
def test_the_sandbox_makes_no_difference(name, rubric):
    (mutant,) = [mutant for mutant in read_mutants() if mutant.name == name]
    tests = [test for test in rubric.tests if test.name == mutant.meant or "returns the old" in test.name]
    report = grade(Submission(name, mutant.text), Rubric("", tuple(tests)), lambda _: None)
    assert passed(report) == {"sbrk: returns the old break"}


def run(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "nexemu", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=100, check=False
    )


def test_from_new_to_a_first_grade(tmp_path):
    made = run("new", "mylab", cwd=tmp_path)
    assert made.returncode == 0
    assert sorted(path.name for path in (tmp_path / "mylab").iterdir()) == [
        "README.md",
        "README.zh.md",
        "handler.py",
    ]
    graded = run("grade", "mylab/handler.py", "--only", "sbrk", cwd=tmp_path)
    assert graded.returncode == 1
    lines = graded.stdout.splitlines()
    assert lines[0] == "== lazy: sbrk maps nothing == FAIL (0/3)"
    assert "     happened  pages that sbrk(+64 pages) maps: 64" in lines
    assert "== sbrk: returns the old break == OK (1/1)" in lines
    assert lines[-1] == "Score: 11/14"
    again = run("new", "mylab", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == "nexemu: mylab/handler.py is there already; name another folder\n"


def test_a_handler_runs_any_guest(tmp_path, guests):
    (tmp_path / "handler.py").write_text(REFERENCE)
    done = run("run", "--handler", "handler.py", "--mem", "16M", "cowdemo", "8", "2", cwd=tmp_path)
    assert "verdict=COW_STYLE" in done.stdout
    (tmp_path / "handler.py").write_text((STARTER / "handler.py").read_text())
    done = run("run", "--handler", "handler.py", "--mem", "16M", "cowdemo", "8", "2", cwd=tmp_path)
    assert "verdict=COPY_STYLE" in done.stdout


def test_a_handler_that_raises_shows_its_own_lines_only(tmp_path, guests):
    text = REFERENCE.replace(
        "    pte = space.walk(va)\n    if is_cow(pte) and", "    nobody\n    if is_cow(pte) and"
    )
    (tmp_path / "handler.py").write_text(text)
    done = run("run", "--handler", "handler.py", "--mem", "16M", "ls", cwd=tmp_path)
    assert done.returncode == 2
    lines = done.stderr.splitlines()[-4:]
    assert lines[0] == "nexemu: Traceback (most recent call last):"
    assert lines[1].startswith('  File "handler.py", line ')
    assert lines[3] == "NameError: name 'nobody' is not defined"
    assert "nexemu/" not in done.stderr


def test_json_junit_and_gradescope(tmp_path):
    (tmp_path / "handler.py").write_text(REFERENCE)
    done = run(
        "grade",
        "handler.py",
        "--only",
        "border",
        "--json",
        "--junit",
        "j.xml",
        "--gradescope",
        "g.json",
        cwd=tmp_path,
    )
    grades = json.loads(done.stdout)
    assert (grades["score"], grades["points"]) == (3, 3)
    assert [test["passed"] for test in grades["tests"]] == [True, True]
    assert (
        '<testcase classname="nexemu.grade" name="lazy: the break is the border" />'
        in (tmp_path / "j.xml").read_text()
    )
    assert json.loads((tmp_path / "g.json").read_text())["tests"][0]["status"] == "passed"
