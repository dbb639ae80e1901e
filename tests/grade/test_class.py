"""A class of submissions: everything that is handed in gets its line, whatever it is."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from grade_mutants import REFERENCE, read_mutants

from nexemu.grade.new_command import STARTER

ROOT = Path(__file__).parent.parent.parent
NAIVE = (STARTER / "handler.py").read_text()
RUBRIC = """
title = "A small rubric"
[[test]]
name = "lazy: sbrk maps nothing"
points = 60
[[test]]
name = "sbrk: returns the old break"
points = 40
"""


@pytest.fixture
def rubric(tmp_path):
    path = tmp_path / "rubric.toml"
    path.write_text(RUBRIC)
    return path


def command(*arguments):
    return [sys.executable, "-m", "nexemu", "grade-all", *map(str, arguments)]


def environment():
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def grade_all(*arguments):
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, env=environment(), timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def scores(out):
    with (out / "results.csv").open() as opened:
        return {row["submission"]: (int(row["score"]), row["problem"]) for row in csv.DictReader(opened)}


@pytest.fixture
def submissions(tmp_path):
    """One of each kind."""
    folder = tmp_path / "submissions"
    (folder / "carol" / "deep" / "lab").mkdir(parents=True)
    (folder / "carol" / "deep" / "lab" / "handler.py").write_text(REFERENCE)
    (folder / "dave").mkdir()
    (folder / "alice.py").write_text(REFERENCE)
    (folder / "bob.py").write_text(NAIVE)
    (folder / "broken.py").write_text("def sbrk(:\n")
    (folder / "frank.py").symlink_to("/etc/passwd")
    (folder / "heidi.py").write_bytes(b"\xff\xfe\x00")
    (folder / "ivan.py").write_text("import os\nos._exit(0)\n")
    (folder / "notes.txt").write_text("see attachment")
    with zipfile.ZipFile(folder / "erin.zip", "w") as archive:
        archive.writestr("../../../tmp/left-behind.py", "print('out')")
        archive.writestr("__MACOSX/lab/handler.py", "not this one")
        archive.writestr("lab/handler.py", NAIVE)
    (folder / "gina.zip").write_bytes((folder / "erin.zip").read_bytes()[:100])
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("handler.py", b"#" * (300 << 20))
    return folder


def test_each_kind_of_submission(tmp_path, submissions, rubric):
    out = tmp_path / "results"
    done = grade_all(submissions, "--out", out, "--rubric", rubric, "--similar")
    unreadable = "a zip that cannot be read: damaged, encrypted, or of an unknown kind"
    assert scores(out) == {
        "alice.py": (100, ""),
        "bob.py": (40, ""),
        "bomb.zip": (0, "handler.py is larger than 1 MiB"),
        "broken.py": (0, "cannot be loaded: SyntaxError: invalid syntax"),
        "carol": (100, ""),
        "dave": (0, "no handler.py in dave"),
        "erin.zip": (40, ""),
        "frank.py": (0, "a symbolic link"),
        "gina.zip": (0, unreadable),
        "heidi.py": (0, "handler.py is not UTF-8 text (byte 0)"),
        "ivan.py": (0, "cannot be loaded: the handler ended its process, with exit status 0"),
        "notes.txt": (0, "neither a folder, nor a zip, nor a .py file"),
    }
    assert "100% equal: alice.py and carol" in done.stdout
    assert (out / "similar.csv").read_text() == "similarity,first,second\n1.00,alice.py,carol\n"
    assert json.loads((out / "bob.py.json").read_text())["score"] == 40
    page = (out / "overview.html").read_text()
    assert "A small rubric" in page
    assert "12 submissions" in page
    assert not list(Path("/tmp").glob("left-behind*"))


def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path, rubric):
    folder, out = tmp_path / "submissions", tmp_path / "results"
    folder.mkdir()
    for number in range(12):
        (folder / f"s{number:02}.py").write_text(f"# {number}\n{NAIVE}")
    arguments = (folder, "--out", out, "--rubric", rubric, "--jobs", "1")
    with subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL, env=environment()) as running:
        while len(list(out.glob("*.json")) if out.exists() else []) < 3:
            time.sleep(0.05)
            assert running.poll() is None, "it should not be finished so soon"
        running.send_signal(signal.SIGKILL)
    kept = {path: path.stat().st_mtime_ns for path in out.glob("*.json")}
    assert 3 <= len(kept) < 12
    grade_all(*arguments)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "these were graded again"
    assert set(scores(out).values()) == {(40, "")}
    assert len(scores(out)) == 12


def test_what_changed_is_graded_again(tmp_path, rubric):
    folder, out = tmp_path / "submissions", tmp_path / "results"
    folder.mkdir()
    (folder / "s.py").write_text(NAIVE)
    grade_all(folder, "--out", out, "--rubric", rubric)
    assert scores(out) == {"s.py": (40, "")}
    (folder / "s.py").write_text(REFERENCE)
    grade_all(folder, "--out", out, "--rubric", rubric)
    assert scores(out) == {"s.py": (100, "")}
    rubric.write_text(RUBRIC.replace("points = 60", "points = 10"))
    grade_all(folder, "--out", out, "--rubric", rubric)
    assert scores(out) == {"s.py": (50, "")}


@pytest.mark.slow
def test_the_scores_do_not_depend_on_jobs_or_load(tmp_path):
    """The whole rubric on mixed handlers: one at a time; four at a time; two beside a busy computer."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    for number, mutant in enumerate(read_mutants()[::24]):
        (folder / f"{number:02}.py").write_text(mutant.text)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "naive.py").write_text(NAIVE)
    (folder / "loop.py").write_text(
        NAIVE.replace("    child.size = parent.size", "    while True:\n        pass")
    )
    found = []
    busy = []
    try:
        for jobs in (1, 4, 2):
            if jobs == 2:
                spin = [sys.executable, "-c", "while True: pass"]
                busy = [subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1))]
            out = tmp_path / f"results{jobs}"
            grade_all(folder, "--out", out, "--jobs", jobs)
            found.append((out / "results.csv").read_text())
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_scores(tmp_path, submissions, rubric):
    distributed = pytest.importorskip("distributed")
    grade_all(submissions, "--out", tmp_path / "here", "--rubric", rubric)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        grade_all(submissions, "--out", tmp_path / "there", "--rubric", rubric, "--dask", address)
    assert (tmp_path / "here" / "results.csv").read_text() == (tmp_path / "there" / "results.csv").read_text()


def test_mistakes_of_the_operator_take_one_line(tmp_path, rubric):
    for arguments, said in [
        (
            (tmp_path / "none", "--out", tmp_path / "o"),
            f"submissions {tmp_path}/none: No such file or directory",
        ),
        ((tmp_path, "--out", rubric, "--rubric", rubric), f"--out {rubric}: File exists"),
        ((tmp_path, "--out", tmp_path / "o", "--jobs", "2", "--dask", "x"), "give either --jobs or --dask"),
    ]:
        done = subprocess.run(
            command(*arguments), capture_output=True, text=True, env=environment(), timeout=60, check=False
        )
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert said in done.stderr
