"""`nexemu bench` on probes that take no time."""

import json

import pytest
from typer.testing import CliRunner

from nexemu.bench import command
from nexemu.bench.probe import Floor, NotHere, Probe
from nexemu.errors import OperatorError


def missed(setting):
    return Probe("too slow", lambda: 3.0, (Floor("floor", lambda: 1.0, 2.0),), remarks=("mind the gap",))


def quick_only(setting):
    setting.stack.callback(UNWOUND.append, "unwound")
    return Probe("by setting", lambda: 1.0 if setting.quick else 2.0)


def absent(setting):
    raise NotHere("buy one")


UNWOUND = []


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "PROBES", {"slow": missed, "setting": quick_only, "absent": absent})
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(command.app, list(arguments))

    return run


def test_it_reports_and_does_not_judge(bench, tmp_path):
    ran = bench("--quick")
    assert ran.exit_code == 0
    assert "missed" in ran.output
    results = json.loads((tmp_path / "bench.json").read_text())["results"]
    assert [(result["name"], result["samples"]) for result in results] == [
        ("slow", [3.0]),
        ("setting", [1.0]),
    ]


def test_what_cannot_be_measured_is_said_and_left_out(bench, tmp_path):
    ran = bench("--quick")
    remarks = ["mind the gap", "absent: not measured: buy one"]
    assert all(remark in ran.output for remark in remarks)
    assert json.loads((tmp_path / "bench.json").read_text())["remarks"] == remarks


def test_only_chooses_probes_and_json_a_file(bench, tmp_path):
    assert bench("--only", "setting", "--json", "out.json", "--quick").exit_code == 0
    data = json.loads((tmp_path / "out.json").read_text())
    assert [result["name"] for result in data["results"]] == ["setting"]
    assert not (tmp_path / "bench.json").exists()


def test_a_probe_cleans_up_when_it_is_done(bench):
    UNWOUND.clear()
    bench("--quick", "--only", "setting")
    assert UNWOUND == ["unwound"]


def test_without_quick_there_are_several_rounds(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "FULL", command.FULL.__class__(least=3, most=3, budget=0.0))
    bench("--only", "setting")
    assert json.loads((tmp_path / "bench.json").read_text())["results"][0]["samples"] == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "lunch"], ["--only lunch", "slow, setting, absent"]),
        (["--json", "no/such/folder.json"], ["--json no/such/folder.json", "No such file or directory"]),
        (["--json", "."], ["--json .", "Is a directory"]),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_measured(bench, arguments, words, tmp_path):
    ran = bench(*arguments)
    assert isinstance(ran.exception, OperatorError)
    assert all(word in str(ran.exception) for word in words)
    assert list(tmp_path.iterdir()) == []
