"""The door: lists, one experiment, exercises, and one line for what is wrong."""

import json

import pytest
from typer.testing import CliRunner

from nexemu.errors import OperatorError
from nexemu.lab import command
from nexemu.lab.catalogue import EXPERIMENTS
from nexemu.lab.command import app
from nexemu.lab.quiz.instances import INSTANCES


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"}, catch_exceptions=False)


def complaint(*arguments):
    """The operator's error, which the door prints as one line."""
    with pytest.raises(OperatorError) as caught:
        CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return str(caught.value)


def test_without_a_name_the_experiments_are_listed():
    listed = run().stdout
    assert all(name in listed for name in EXPERIMENTS)
    assert all(experiment.place in listed for experiment in EXPERIMENTS.values())


def test_an_experiment_prints_its_tables():
    done = run("belady")
    assert done.exit_code == 0
    assert "fifo, 4 places: misses" in done.stdout


def test_an_experiment_as_json():
    found = json.loads(run("belady", "--json").stdout)
    assert [check["ours"] for check in found["checks"][:6]] == [9, 10, 10, 8, 7, 6]


def test_a_seed_changes_what_is_random_and_nothing_else():
    default, again, other = (
        json.loads(run("shares", "--json", *more).stdout) for more in ((), (), ("--seed", "9"))
    )
    assert default == again
    assert default["seed"] == 1
    assert other["seed"] == 9
    assert other["checks"][0]["ours"] == default["checks"][0]["ours"]  # stride draws nothing
    assert other["checks"][1]["ours"] != default["checks"][1]["ours"]


def test_a_plot_is_drawn_beside_the_tables(tmp_path):
    pytest.importorskip("matplotlib")
    assert "Belady" in run("belady", "--plot", str(tmp_path / "b.svg")).stdout
    assert (tmp_path / "b.svg").stat().st_size > 1000


def test_a_plot_that_cannot_be_drawn_is_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(command, "Trial", pytest.fail)
    assert "ends in" in complaint("tails", "--plot", "t.pdf")


def test_a_wrong_name_is_one_line_with_a_hint():
    assert complaint("convoi") == "lab convoi: there is no convoi; did you mean convoy?"
    assert complaint("xyzzy") == "lab xyzzy: there is no xyzzy; `nexemu lab` lists them"


# ---- the quiz ---------------------------------------------------------------------------------


def test_exercises_are_listed_in_both_languages():
    assert all(name in run("quiz").stdout for name in INSTANCES)
    assert "块表有多大" in run("quiz", "--lang", "zh").stdout


def test_the_answer_is_hidden_until_it_is_asked_for():
    assert "12.25" not in run("quiz", "by-hand").stdout
    assert "12.25" in run("quiz", "by-hand", "--answer").stdout
    assert "平均 12.25" in run("quiz", "by-hand", "--answer", "--lang", "zh").stdout


def test_a_seed_poses_the_exercise_with_other_numbers():
    assert run("quiz", "by-hand", "--seed", "1").stdout == run("quiz", "by-hand", "--seed", "1").stdout
    assert run("quiz", "by-hand", "--seed", "1").stdout != run("quiz", "by-hand").stdout


def test_a_wrong_exercise_or_language_is_one_line():
    assert complaint("quiz", "beem") == "lab quiz beem: there is no beem; did you mean beam?"
    assert complaint("quiz", "beam", "--lang", "de") == "--lang de: there are en and zh"
