"""The pieces of a class: what was handed in, the results folder, and who looks like whom."""

import json
import os
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from nexemu.errors import OperatorError
from nexemu.grade import class_command
from nexemu.grade.classroom.job import Job, broken, graded_apart
from nexemu.grade.classroom.overview import as_html
from nexemu.grade.classroom.results import ResultsFolder, as_csv
from nexemu.grade.classroom.similar import Pair, normalised, similar_pairs
from nexemu.grade.classroom.submissions import HandedIn, collect
from nexemu.grade.new_command import STARTER
from nexemu.grade.rubric import Rubric, read_rubric

SOLUTION = """
def sbrk(space, n):
    pte = space.walk(space.size + n * 3)
    for page in range(7):
        if pte & page and not space.pages(page, pte)[0]:
            space.setpte(page << 12, pte | page - 1)
        else:
            split(space, {page: pte}, [page, pte], key=lambda pte: pte ** 2)
    while pte:
        pte = pte // 2 if pte % 2 else max(pte - 1, page, 0) ^ 5
    return space.size, pte, page
"""


def read(folder):
    return {each.name: each.text or each.problem for each in collect(folder, folder / "results")}


def test_the_highest_handler_of_a_folder_counts(tmp_path):
    for where in ("a", "a/old", "b/x/y", "c/1", "c/2", "d/1/2/3/4/5"):
        (tmp_path / where).mkdir(parents=True)
        (tmp_path / where / "handler.py").write_text(where)
    (tmp_path / ".git").mkdir()
    found = read(tmp_path)
    assert list(found) == ["a", "b", "c", "d"]
    assert (found["a"], found["b"], found["d"]) == ("a", "b/x/y", "no handler.py in d")
    assert found["c"].startswith("2 files called handler.py: ")


def test_links_and_devices_lead_nowhere(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = tmp_path / "submissions"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "handler.py").symlink_to(secret)
    (folder / "b").symlink_to(tmp_path)
    (folder / "c").mkdir()
    (folder / "c" / "handler.py").mkdir()
    assert read(folder) == {
        "a": "Too many levels of symbolic links",
        "b": "a symbolic link",
        "c": "no handler.py in c",
    }


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["handler.py"], "handler.py"),
        (["lab/handler.py", "lab/old/handler.py"], "lab/handler.py"),
        (["../handler.py"], "../handler.py"),
        (["/etc/handler.py"], "/etc/handler.py"),
        (["__MACOSX/handler.py", "x/handler.py"], "x/handler.py"),
        (["./lab/handler.py"], "./lab/handler.py"),
        (["README"], "no handler.py in it.zip"),
        (["a/handler.py", "b/handler.py"], "2 files called handler.py: a/handler.py, b/handler.py"),
    ],
)
def test_zips_are_read_and_never_unpacked(tmp_path, entries, found):
    with zipfile.ZipFile(tmp_path / "it.zip", "w") as archive:
        for entry in entries:
            archive.writestr(entry, entry)
    assert read(tmp_path) == {"it.zip": found}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.zip"]


def test_an_empty_folder_is_a_mistake(tmp_path):
    with pytest.raises(OperatorError, match="there is nothing in it"):
        collect(tmp_path, tmp_path / "results")


def test_results_are_no_submission(tmp_path):
    (tmp_path / "a.py").write_text("")
    (tmp_path / "results").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    assert [each.name for each in collect(tmp_path, tmp_path / "results")] == ["a.py", "loop"]
    with pytest.raises(OperatorError, match="name another one"):
        collect(tmp_path, tmp_path / "results" / "..")


def test_names_that_are_no_text_stay_apart(tmp_path):
    for name in (b"\xfe.py", b"\xff.py"):
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text("")
    assert [each.name for each in collect(tmp_path, tmp_path / "results")] == ["\\udcfe.py", "\\udcff.py"]


def test_a_job_is_known_by_what_it_is_made_of(tmp_path):
    rubric = tmp_path / "r.toml"
    rubric.write_text('[[test]]\nname = "mine"\npoints = 1\nguest = ["mine"]\n')
    (tmp_path / "mine").write_bytes(b"ELF 1")
    first = Job("a", "text", str(rubric)).digest
    assert Job("b", "text", str(rubric)).digest == first
    assert Job("a", "other", str(rubric)).digest != first
    (tmp_path / "mine").write_bytes(b"ELF 2")
    second = Job("a", "text", str(rubric)).digest
    assert second != first
    rubric.write_text(rubric.read_text().replace("points = 1", "points = 2"))
    assert Job("a", "text", str(rubric)).digest not in (first, second)


def test_a_grading_process_that_dies_costs_one_line(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = graded_apart(Job("a", "text", ""))
    assert (result["handler"], result["score"], result["points"]) == ("a", 0, 100)
    assert result["problem"] == "the grading process did not survive it"


def test_results_are_kept_under_names_that_are_files(tmp_path):
    folder = ResultsFolder(tmp_path / "out")
    names = ["alice", "../../etc/passwd", ".hidden", "a b", "a_b", "名字", "x" * 300]
    for name in names:
        folder.keep({"handler": name, "score": 1})
    kept = {json.loads(path.read_text())["handler"]: path.name for path in folder.path.iterdir()}
    assert sorted(kept) == sorted(names)
    assert kept["alice"] == "alice.json"
    assert not any(name.startswith(".") for name in kept.values())


def test_only_the_very_same_job_is_not_done_again(tmp_path):
    folder, job = ResultsFolder(tmp_path), Job("a", "text", "")
    assert folder.earlier(job) is None
    folder.keep({"handler": "a", "score": 5, "digest": job.digest})
    assert folder.earlier(job)["score"] == 5
    assert folder.earlier(Job("a", "another text", "")) is None
    folder.file_of("a").write_text("[]")
    assert folder.earlier(job) is None
    folder.file_of("a").write_text("{")
    assert folder.earlier(job) is None


RESULT = {
    "handler": "=HYPERLINK(1)<b>",
    "score": 3,
    "points": 100,
    "tests": [
        {"name": "lazy: sbrk maps nothing", "points": 3, "earned": 3, "passed": True},
        {"name": "cow: 257 owners", "points": 2, "earned": 0, "passed": False, "happened": "<script>"},
    ],
}


def test_the_table_has_no_formulas():
    head, line = as_csv([RESULT], read_rubric()).splitlines()
    assert head.startswith("submission,score,points,lazy: sbrk maps nothing,")
    assert line.startswith("'=HYPERLINK(1)<b>,3,100,3,0,")


def test_what_is_equal_is_told_on_one_line_each_without_formulas(capsys, tmp_path):
    pairs = [Pair("=1\n2", f"b{number}", 1.0) for number in range(25)]
    assert class_command.similar_csv(pairs[:1]) == 'similarity,first,second\n1.00,"\'=1\n2",b0'
    class_command.print_summary([RESULT], pairs, tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert said[1] == "100% equal: =1\ufffd2 and b0"
    assert said[-2:] == [
        f"and 5 more pairs: {tmp_path}/similar.csv",
        f"1 submission: {tmp_path}/results.csv, {tmp_path}/overview.html",
    ]


def test_the_page_says_how_many_could_not_be_graded():
    broken_one = {**RESULT, "tests": [], "problem": "a symbolic link"}
    assert "could not be read" not in as_html([RESULT], read_rubric(), [])
    assert "2 submissions, 100 points; 1 could not be read" in as_html(
        [RESULT, broken_one], read_rubric(), []
    )


def test_the_page_shows_everybody_and_no_markup_of_theirs():
    page = as_html([RESULT, broken(HandedIn("bob", None, "no <handler>"), read_rubric())], read_rubric(), [])
    assert "=HYPERLINK(1)&lt;b&gt;" in page
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "no &lt;handler&gt;" in page
    assert "Suspiciously" not in page
    assert "50%" in as_html([RESULT], read_rubric(), [Pair("a", "b", 0.5)])


@pytest.mark.parametrize(
    ("points", "rows"),
    [(3, ["0", "1", "2", "3"]), (12, ["0 to 1", "2", "3", "4", "5", "6 to 7", "8", "9", "10", "11", "12"])],
)
def test_scores_of_a_small_rubric_are_counted_one_by_one(points, rows):
    check = read_rubric().tests[0]
    page = as_html([], Rubric("small", (replace(check, points=points),)), [])
    assert re.findall(r'<tr><td class="n">([\d to]+)</td>', page) == rows


def test_tokens_without_what_is_easily_changed():
    assert normalised("def f(x):\n    '''Doc.'''\n    return x.size + 0x10  # why\n") == (
        ["def", "name", "(", "name", ")", ":", "return", "name", ".", "size", "+", "0"]
    )
    assert normalised("def f(:\n") == ["def", "name", "(", ":"]


def test_the_same_in_other_words_is_found():
    other = "# my own work\n" + re.sub(r"\bpte\b", "entry", SOLUTION).replace("split", "'x'.join")
    other = other.replace("'x'.join", "divide").replace("5", "0x7B")
    starter = (STARTER / "handler.py").read_text()
    handed_in = [
        HandedIn("a", SOLUTION),
        HandedIn("b", other),
        HandedIn("c", starter),
        HandedIn("d", starter),
        HandedIn("e", None, "gone"),
        HandedIn("f", "def sbrk(:"),
    ]
    assert similar_pairs(handed_in) == [Pair("a", "b", 1.0)]
