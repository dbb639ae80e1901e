"""``nexemu kv``: what it prints, and what it says to a mistake."""

import json
import sys

import pytest
from typer.testing import CliRunner

from nexemu.errors import OperatorError
from nexemu.kv_command import app


@pytest.fixture
def kv(monkeypatch):
    """Run the command; its words, whatever is drawn between them."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments, typed=""):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    return run


def cells(text):
    """The rows of a table, and lines beside it, as tuples of cells."""
    return [tuple(cell.strip() for cell in line.strip("│┃ ").split("│")) for line in text.splitlines()]


# ---- blocks ---------------------------------------------------------------------------------------


def test_blocks_as_in_the_course_notes(kv):
    rows = cells(kv("blocks"))
    assert ("1", "0 x2  2") in rows
    assert ("2", "0 x2  1") in rows
    assert ("copied when written", "1") in rows
    assert ("full copies would take", "4") in rows


def test_long_tables_are_cut_in_the_middle(kv):
    rows = cells(kv("blocks", "--prompt", 1000, "--samples", 12, "--generate", 8, "--block", 16))
    assert ("1", "0 x12  1 x12  2 x12  ... 56 more ...  59 x12  60 x12  61 x12  63") in rows
    assert ("...", "2 more") in rows
    assert ("of the prompt", "63") in rows
    assert ("copied when written", "11") in rows


def test_nothing_generated_copies_nothing(kv):
    rows = cells(kv("blocks", "--generate", 0))
    assert ("copied when written", "0") in rows
    assert ("saved", "50.0 %") in rows


def test_too_many_tokens(kv):
    with pytest.raises(OperatorError, match="more than 1048576 in all"):
        kv("blocks", "--prompt", 1 << 20, "--samples", 2)


# ---- radix ----------------------------------------------------------------------------------------

TWO = ("you are a helpful assistant .", "you are a careful reviewer .")


def test_a_tree_of_arguments(kv):
    text = kv("radix", *TWO, "--query", "you are a helpful friend")
    assert text.startswith("└ [you are a]  length 3\n  └ [helpful assistant .]  length 3\n")
    assert ("inserted", "12") in cells(text)
    assert ("stored", "9") in cells(text)
    assert "4 of 5 tokens match: you are a helpful friend\n" in text


def test_a_tree_of_standard_input(kv):
    assert kv("radix", typed="a b c\na b d\n").startswith("└ [a b]  length 2\n")


def test_locked_prefixes_survive(kv):
    text = kv("radix", *TWO, "--lock", TWO[1], "--evict", 100)
    assert text.endswith(
        "evicted 3 tokens, 6 are locked:\n"
        "└ [you are a]  length 3, locks 1\n"
        "  └ [careful reviewer .]  length 3, locks 1\n"
    )


def test_an_empty_tree(kv):
    assert kv("radix", typed="").startswith("(empty)\n")


def test_input_that_is_no_text(kv):
    with pytest.raises(OperatorError, match="standard input is not text"):
        kv("radix", typed=b"a b\xff\n")


def test_pages_are_whole(kv):
    assert kv("radix", "a b c d e", "--page", 2).startswith("└ [a b c d]  length 4\n")


def test_words_are_no_markup(kv):
    assert kv("radix", "[bold] [/x]").startswith("└ [[bold] [/x]]  length 2\n")


# ---- serve and compare ----------------------------------------------------------------------------

SMALL = ("--count", 6, "--rate", 4)


def test_a_run(kv):
    rows = dict(row for row in cells(kv("serve", *SMALL)) if len(row) == 2)
    assert rows["finished, refused"].endswith(", 0")
    assert rows["served well"].startswith("100.0 %")


def test_a_run_as_json(kv):
    found = json.loads(kv("serve", *SMALL, "--json", "--memory", "swap", "--scheduler", "plas"))
    assert (found["memory"], found["scheduler"], found["refused"]) == ("swap", "plas", 0)
    assert sum(found["usage"].values()) == pytest.approx(1)


def test_a_comparison(kv):
    text = kv("compare", *SMALL, "--memory", "max, radix", "--scheduler", "fcfs,sjf")
    rows = [line.split()[:2] for line in text.splitlines()]
    assert rows[2:6] == [["max", "fcfs"], ["max", "sjf"], ["radix", "fcfs"], ["radix", "sjf"]]


def test_a_comparison_loses_no_digit_in_a_narrow_terminal(kv, monkeypatch):
    wide = kv("compare", *SMALL, "--memory", "radix").splitlines()
    monkeypatch.setenv("COLUMNS", "30")
    narrow = kv("compare", *SMALL, "--memory", "radix").splitlines()
    assert [line.split() for line in narrow[:3]] == [line.split() for line in wide[:3]]


def test_a_comparison_as_json(kv):
    found = json.loads(kv("compare", *SMALL, "--memory", "paged,prefix", "--json"))
    assert [each["memory"] for each in found] == ["paged", "prefix"]
    assert found[0]["hit_rate"] == 0 < found[1]["hit_rate"]


def test_a_trace(kv, tmp_path):
    path = tmp_path / "trace.jsonl"
    line = {"timestamp": 0, "input_length": 600, "hash_ids": [1, 2], "output_length": 3}
    later = line | {"timestamp": 500}
    path.write_text(f"{json.dumps(line)}\n{json.dumps(later)}\n")
    found = json.loads(kv("serve", path, "--json"))
    assert found["finished"] == 2
    assert found["hit_rate"] == pytest.approx(592 / 1200)


def test_what_is_refused_is_explained(kv):
    text = kv("serve", *SMALL, "--slots", 256)
    assert "The first that was refused: it needs" in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("serve", "--memory", "heap"), "--memory heap: there are max, "),
        (("serve", "--scheduler", "x"), "--scheduler x: there are fcfs, "),
        (("serve", "--evict", "opt"), "--evict opt: there are fifo, "),
        (("serve", "--workload", "x"), "--workload x: there are chat, "),
        (("serve", "--rate", "nan"), "--rate nan: how many begin a second must be a number"),
        (("serve", "/nowhere/trace.jsonl"), "/nowhere/trace.jsonl: cannot read this trace"),
        (("serve", "--slots", 16, "--block", 17), "not one block fits"),
        (("serve", "--plot", "x.gif"), "--plot x.gif: the name ends in"),
        (("compare", "--memory", "max,heap"), "--memory heap: there are"),
        (("compare", "--plot", "/nowhere/x.png"), "there is no folder /nowhere"),
        (("radix", "a", "--policy", "opt"), "--policy opt: there are"),
        (("radix", "a", "--plot", "x"), "--plot x: the name ends in"),
        (("blocks", "--plot", "x.pdf"), "--plot x.pdf: the name ends in"),
    ],
)
def test_a_mistake_is_one_line(kv, arguments, complaint):
    with pytest.raises(OperatorError) as error:
        kv(*arguments)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


# ---- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "figures"),
    [
        (("blocks", "--generate", 5), {"Blocks in use"}),
        (("radix", *TWO), {"Tokens stored"}),
        (("serve", *SMALL), {"Memory by kind", "Requests"}),
        (("compare", *SMALL, "--memory", "paged,radix"), {"Served well", "First token"}),
    ],
)
def test_every_plot_has_its_lines(kv, monkeypatch, tmp_path, arguments, figures):
    drawn = []
    for module in ("blocks", "radix", "serve"):
        loaded = sys.modules[f"nexemu.kv_command.{module}"]
        monkeypatch.setattr(loaded, "draw", lambda title, figures, path: drawn.extend(figures))
        monkeypatch.setattr(loaded, "check_can_plot", lambda path: None)
    kv(*arguments, "--plot", tmp_path / "x.png")
    assert {figure.title for figure in drawn} == figures
    for figure in drawn:
        assert figure.lines
        assert all(len(line) == len(figure.x) > 1 for line in figure.lines.values())
