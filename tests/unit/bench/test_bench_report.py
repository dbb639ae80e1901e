"""The table fits a terminal and says what is there; the JSON holds all of it."""

import io
import json

import pytest
from rich.console import Console

from nexemu.bench.host import Host, this_host
from nexemu.bench.measure import Comparison, Result
from nexemu.bench.report import as_json, duration, table

HOST = Host("a CPU", 2, "Linux x86_64", "3.11.7", "2.1.4", "0.1.0", 0.5)
LAZY = Result(
    "lazy",
    "lazy fault",
    (2e-6, 4e-6, 3e-6),
    None,
    (Comparison("an empty hook", (1e-6, 2e-6, 1e-6), (2.0, 2.0, 3.0), 2.5),),
)
FORK = Result("fork", "fork, many pages", (0.030,), 0.020, ())
WIDEST = Result(
    "w", "w" * 28, (0.1111, 0.2), 0.1, (Comparison("v" * 26, (0.7777, 0.9), (100.0, 200.0), 99.5),)
)


def shown(*results, width=80):
    output = io.StringIO()
    Console(file=output, width=width).print(table(results))
    return output.getvalue().splitlines()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.5e-10, "0.15 ns"),
        (9.994e-9, "9.99 ns"),
        (1e-6, "1.00 us"),
        (12.34e-6, "12.3 us"),
        (0.4, "400 ms"),
        (1.0, "1.00 s"),
        (123.4, "123 s"),
    ],
)
def test_a_duration_has_three_digits(seconds, text):
    assert duration(seconds) == text


def test_a_thing_and_below_it_its_floor():
    *_, thing, floor = shown(LAZY)
    assert thing.split() == ["lazy", "fault", "3.00", "us", "±17%"]
    assert floor.startswith("  an empty hook")
    assert floor.split()[3:] == ["1.00", "us", "±25%", "2.00", "±12%", "<=", "2.5x", "met"]


def test_a_time_that_is_aimed_at_stands_beside_the_thing():
    assert shown(FORK)[-1].split()[3:] == ["30.0", "ms", "±0%", "<=", "20.0", "ms", "missed"]


def test_no_cell_is_cut_in_80_columns():
    *_, thing, floor = shown(WIDEST)
    assert "…" not in thing + floor
    assert max(map(len, (thing, floor))) <= 80
    assert (thing.split()[0], floor.split()[0]) == ("w" * 28, "v" * 26)


def test_json_holds_every_sample_and_every_target():
    data = json.loads(json.dumps(as_json(HOST, [LAZY, FORK], ["qemu is missing"], quick=True)))
    assert data["host"]["cpu"] == "a CPU"
    assert (data["quick"], data["remarks"]) == (True, ["qemu is missing"])
    lazy, fork = data["results"]
    assert (lazy["name"], lazy["rounds"], lazy["samples"]) == ("lazy", 3, [2e-6, 4e-6, 3e-6])
    assert lazy["time"] == pytest.approx({"median": 3e-6, "low": 2.5e-6, "high": 3.5e-6, "best": 2e-6})
    assert (lazy["at_most_seconds"], lazy["met"]) == (None, None)
    (floor,) = lazy["floors"]
    assert (floor["title"], floor["samples"]) == ("an empty hook", [1e-6, 2e-6, 1e-6])
    assert floor["ratio"] == {"median": 2.0, "low": 2.0, "high": 2.5, "best": 2.0}
    assert (floor["at_most_ratio"], floor["met"]) == (2.5, True)
    assert (fork["at_most_seconds"], fork["met"], fork["floors"]) == (0.020, False, [])


def test_the_host_is_named_in_one_line():
    line = HOST.line()
    assert line == "a CPU, 2 cores at load 0.5; Linux x86_64; Python 3.11.7, Unicorn 2.1.4, nexemu 0.1.0"


def test_this_host_runs_the_pinned_unicorn():
    host = this_host()
    assert host.unicorn == "2.1.4"
    assert host.cores >= 1
    assert host.cpu
