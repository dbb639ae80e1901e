"""Hostile handlers earn nothing that they did not earn, and leave nothing behind."""

import json
import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from nexemu.grade.contestant import Submission
from nexemu.grade.grader import grade
from nexemu.grade.rubric import read_rubric

HERE = Path(__file__).parent
ROWS = tomllib.loads((HERE / "hostile.toml").read_text())["hostile"]
IDLE = """
from nexemu.grade.kit import BadAddress, BadCall, OutOfMemory

{trick}

def sbrk(space, n):
    {call}
    raise BadCall("no")

def page_fault(space, va, access):
    {call}
    raise BadAddress(va, "no")

def prepare_copyin(space, va):
    {call}
    raise BadAddress(va, "no")

def prepare_copyout(space, va):
    {call}
    raise BadAddress(va, "no")

def fork_copy(parent, space):
    {call}
    raise OutOfMemory("no")

def release(space):
    {call}
    space.uvmunmap(0, space.size // 4096, True)
"""
RUBRIC = """
[[test]]
name = "lazy: sbrk maps nothing"
points = 20
[[test]]
name = "lazy: bad addresses kill"
points = 20
[[test]]
name = "lazy: the guard page stays"
points = 20
[[test]]
name = "cow: the child's store is its own"
points = 20
[[test]]
name = "frames: everything comes back"
points = 20
"""
EARNED_BY_REFUSING = {"lazy: the guard page stays"}


def idle(trick="", call=""):
    """The handler that refuses everything, with a trick in it."""
    text = IDLE.replace("{trick}", trick.strip("\n"))
    indented = textwrap.indent(call.strip("\n"), "    ").strip() or "pass"
    return text.replace("{call}", indented)


@pytest.fixture(scope="module")
def rubric(tmp_path_factory):
    path = tmp_path_factory.mktemp("rubric") / "rubric.toml"
    path.write_text(RUBRIC)
    return path


def processes_of(root):
    """The command lines of sandboxes that import from ``root``, and of what they could have started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if str(root).encode() in line or b"sleep 98765" in line:
            found.append(line)
    return found


def litter():
    """Files that a sandbox has left, or that one could have made."""
    places = [Path("/tmp"), Path("/dev/shm"), Path("/"), Path.cwd()]
    return [path for place in places if place.is_dir() for path in place.glob("*left-behind*")]


def test_the_idle_handler_earns_what_refusing_earns(rubric):
    report = grade(Submission("idle", idle()), read_rubric(rubric), lambda _: None)
    assert {verdict.test.name for verdict in report.verdicts if not verdict.failure} == EARNED_BY_REFUSING


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_hostile(row, rubric, tmp_path):
    handler = tmp_path / "handler.py"
    handler.write_text(idle(row["trick"], row["call"]))
    root = tmp_path / "root"
    root.symlink_to(HERE.parent.parent)  # a path of our own, by which processes of ours can be told
    files = litter()
    command = [sys.executable, "-m", "nexemu", "grade", str(handler), "--rubric", str(rubric), "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.returncode == 1, done.stderr.decode()
    grades = json.loads(done.stdout)
    passed = {test["name"] for test in grades["tests"] if test["passed"]}
    assert passed <= EARNED_BY_REFUSING, grades
    assert processes_of(root) == []
    assert [each for each in litter() if each not in files] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["handler.py", "root"]


def test_there_are_enough_of_them():
    assert len(ROWS) >= 15
