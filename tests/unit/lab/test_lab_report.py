"""Reports: numbers for people, tables, JSON, plots, and the bar for those who wait."""

import doctest
import io
import json
import sys

import pytest
from rich.console import Console

from nexemu.errors import OperatorError
from nexemu.lab import plot as plot_module
from nexemu.lab import progress, report
from nexemu.lab.experiment import Experiment, in_silence
from nexemu.lab.plot import check_can_plot, draw, plot
from nexemu.lab.progress import with_a_bar
from nexemu.lab.report import Check, Figure, Report, Table
from nexemu.lab.show import as_json, show, turned

LINE = Figure("A line", "x", "y", [1, 10, 100], {"up": [1.0, 2.0, 3.0], "down": [3.0, 2.0, 1.0]}, log_x=True)
SCATTER = Figure("Apart", "x", "y", [], {}, points={"even": [(2, 1.0), (4, 2.0)], "odd": [(1, 3.0)]})
REPORT = Report(
    "It rises.",
    [Table("Numbers", ("name", "value"), [("one [b]", 1), ("ten thousand", 10_000)])],
    [Check("equal", 4.62, 4.621, "no reason"), Check("unequal", 31.3, 35.2, "another draw")],
    [LINE, LINE, SCATTER],
)


def experiment():
    return Experiment("An experiment", "code 09, demo 1", lambda trial: REPORT)


def test_the_docstrings_are_true():
    assert doctest.testmod(report) == (0, 4)


def test_tables_and_both_values_are_shown():
    out = io.StringIO()
    show(experiment(), REPORT, Console(file=out, width=100))
    lines = out.getvalue().splitlines()
    assert lines[0] == "An experiment (code 09, demo 1)"
    assert any("ten thousand" in line and "10,000" in line for line in lines)
    assert any("one [b]" in line for line in lines)  # no markup
    assert lines[-1].rstrip() == "It rises."


def test_a_reason_is_given_only_for_values_that_differ():
    out = io.StringIO()
    show(experiment(), REPORT, Console(file=out, width=100))
    assert "another draw" in out.getvalue()
    assert "no reason" not in out.getvalue()


def shown(table, width):
    out = io.StringIO()
    show(experiment(), Report("", [table]), Console(file=out, width=width))
    return [line.rstrip("│ ") for line in out.getvalue().splitlines()]


WIDE = Table("Wide", ("policy", "mean response", "worst response"), [("fcfs", 38191, 2), ("sjf", 3, 1234567)])


def test_a_table_that_is_too_wide_is_turned():
    assert any(line.endswith("38,191 │              2") for line in shown(WIDE, 80))
    assert any(line.endswith("38,191 │         3") for line in shown(WIDE, 40))
    assert turned(WIDE).columns == ("policy", "fcfs", "sjf")
    assert turned(WIDE).rows == [("mean response", 38191, 3), ("worst response", 2, 1234567)]


def test_no_digit_is_cut_off_where_nothing_helps():
    tall = Table("", ("n", "one", "two"), [(str(row), 1234567, 7654321) for row in range(4)])
    assert sum(line.endswith("1,234,567 │ 7,654,321") for line in shown(tall, 12)) == 4


def test_json_has_everything_as_it_was_computed():
    found = json.loads(as_json("it", 7, experiment(), REPORT))
    assert (found["experiment"], found["seed"], found["place"]) == ("it", 7, "code 09, demo 1")
    assert found["checks"][0]["ours"] == 4.621
    assert found["figures"][0]["lines"]["down"] == [3, 2, 1]


def test_an_axis_has_its_numbers_at_the_points_if_there_is_room():
    assert LINE.ticks == [1, 10, 100]
    assert Figure("", "", "", [1, 10, 100], {}).ticks == [1, 10, 100]
    assert Figure("", "", "", [1, 2, 100], {}).ticks == []
    assert Figure("", "", "", [1, 2, 100], {}, log_x=True).ticks == [1, 2, 100]
    assert Figure("", "", "", range(100), {}).ticks == []
    assert Figure("", "", "", [5], {}).ticks == []


def test_names_stand_as_the_lines_do():
    assert Figure("", "", "", [1, 2], {"low": [0, 0], "high": [9, 9], "middle": [8, 1]}).names == (
        ["high", "middle", "low"]
    )


def test_points_are_counted_and_named_in_the_order_in_which_they_are_drawn():
    assert SCATTER.count == 3
    assert SCATTER.names == ["even", "odd"]
    assert SCATTER.ticks == []


# ---- plots ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "library", "begins"),
    [
        (".png", "matplotlib", b"\x89PNG"),
        (".svg", "matplotlib", b"<?xml"),
        (".html", "plotly", b"<!doctype html>"),
    ],
)
def test_figures_become_a_file(tmp_path, suffix, library, begins):
    pytest.importorskip(library)
    path = tmp_path / f"out{suffix}"
    plot("it", REPORT, path)
    content = path.read_bytes()
    assert content.lower().startswith(begins.lower())
    if suffix != ".png":
        assert b"A line" in content
        assert b"Apart" in content
        assert b"nexemu lab it" in content


def test_many_points_are_an_image_in_an_svg_and_few_are_shapes(tmp_path):
    pytest.importorskip("matplotlib")
    few, many = (
        Figure("", "x", "y", [], {}, points={"all": [(n, n) for n in range(count)]})
        for count in (100, 30_000)
    )
    for name, figure in (("few.svg", few), ("many.svg", many)):
        draw("it", [figure], tmp_path / name)
    assert b"<image" not in (tmp_path / "few.svg").read_bytes()
    assert b"<image" in (tmp_path / "many.svg").read_bytes()
    assert (tmp_path / "many.svg").stat().st_size < 200_000


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("out.pdf", "ends in .png, .svg, .html"), ("out", "ends in"), ("nowhere/out.png", "there is no folder")],
)
def test_a_path_that_cannot_be_plotted_to_is_refused_at_once(tmp_path, name, complaint):
    with pytest.raises(OperatorError, match=complaint):
        check_can_plot(tmp_path / name)


@pytest.mark.parametrize(("suffix", "library"), [(".png", "matplotlib"), (".html", "plotly")])
def test_a_missing_library_is_named_with_what_to_install(tmp_path, monkeypatch, suffix, library):
    monkeypatch.delitem(sys.modules, plot_module.DRAWERS[suffix], raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Refuses(library), *sys.meta_path])
    with pytest.raises(OperatorError, match=rf"needs {library}.*pip install 'nexemu\[plot\]'"):
        check_can_plot(tmp_path / f"out{suffix}")


class _Refuses:
    def __init__(self, library):
        self.library = library

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=self.library)


def test_an_experiment_without_figures_cannot_be_plotted(tmp_path):
    with pytest.raises(OperatorError, match="it has no figure"):
        plot("it", Report("nothing"), tmp_path / "out.png")


def test_a_file_that_cannot_be_written_is_the_operators_fault(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "out.png").mkdir()
    with pytest.raises(OperatorError, match=r"out.png: Is a directory"):
        plot("it", REPORT, tmp_path / "out.png")


# ---- progress ---------------------------------------------------------------------------------


def test_steps_hand_on_what_they_are_given(capsys):
    assert list(with_a_bar("counting", [3, 4])) == list(in_silence("counting", [3, 4])) == [3, 4]
    assert capsys.readouterr() == ("", "")


def test_a_bar_appears_on_a_terminal_once_it_takes_long(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=out, force_terminal=True))
    monkeypatch.setattr(progress, "PATIENCE_S", -1.0)
    assert list(with_a_bar("counting", range(3))) == [0, 1, 2]
    assert "counting" in out.getvalue()
