"""Samples are taken in turns, and medians and ratios are what they should be."""

import pytest

from nexemu.bench.measure import Effort, measure
from nexemu.bench.probe import Floor, Probe
from nexemu.bench.stats import Spread, ratios, spread

THREE_ROUNDS = Effort(least=3, most=3, budget=0.0)


def ignore(done):
    """Nobody watches."""


def replay(values):
    """A sample that gives one value after another."""
    return iter(values).__next__


# ---- statistics -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([2.5], Spread(2.5, 2.5, 2.5, 2.5)),
        ([1.0, 3.0], Spread(2.0, 1.5, 2.5, 1.0)),
        ([5.0, 1.0, 4.0, 2.0, 3.0], Spread(3.0, 2.0, 4.0, 1.0)),
        ([1.0, 1.0, 1.0, 1.0, 100.0], Spread(1.0, 1.0, 1.0, 1.0)),
    ],
)
def test_a_spread_is_median_quartiles_and_minimum(samples, expected):
    assert spread(samples) == expected


def test_a_relative_spread_is_half_the_middle_half():
    assert Spread(median=4.0, low=3.0, high=5.0, best=1.0).relative == 0.25


def test_ratios_are_those_of_neighbours():
    assert ratios([2.0, 9.0], [1.0, 3.0]) == (2.0, 3.0)


def test_ratios_need_as_many_floors():
    with pytest.raises(ValueError, match="shorter"):
        ratios([2.0, 9.0], [1.0])


# ---- measuring --------------------------------------------------------------------------------


def test_the_thing_and_its_floors_take_turns():
    order = []

    def note(name):
        return lambda: order.append(name) or 1.0

    probe = Probe("thing", note("a"), (Floor("one", note("b")), Floor("two", note("c"))), warm_up=False)
    measure("x", probe, THREE_ROUNDS, ignore)
    assert "".join(order) == "abcabcabc"


def test_the_round_that_warms_up_does_not_count():
    floors = (Floor("f", replay([50.0, 1.0, 2.0, 4.0])),)
    result = measure("x", Probe("t", replay([90.0, 3.0, 3.0, 3.0]), floors), THREE_ROUNDS, ignore)
    assert result.samples == (3.0, 3.0, 3.0)
    assert result.comparisons[0].samples == (1.0, 2.0, 4.0)
    assert result.comparisons[0].ratios == (3.0, 1.5, 0.75)


def test_without_a_warm_up_the_first_round_counts():
    result = measure("x", Probe("t", replay([9.0, 8.0, 7.0]), warm_up=False), THREE_ROUNDS, ignore)
    assert (result.name, result.title, result.samples) == ("x", "t", (9.0, 8.0, 7.0))


@pytest.mark.parametrize(
    ("effort", "rounds"),
    [
        (Effort(least=4, most=9, budget=0.0), 4),
        (Effort(least=1, most=6, budget=1e9), 6),
        (Effort(least=1, most=1, budget=0.0), 1),
    ],
)
def test_rounds_end_with_the_budget_or_at_the_most(effort, rounds):
    result = measure("x", Probe("t", lambda: 1.0), effort, ignore)
    assert len(result.samples) == rounds


@pytest.mark.parametrize("effort", [THREE_ROUNDS, Effort(1, 4, 1e9), Effort(2, 9, 0.0)])
def test_progress_grows_to_the_whole(effort):
    seen = []
    measure("x", Probe("t", lambda: 1.0), effort, seen.append)
    assert seen == sorted(seen)
    assert (seen[0] > 0, seen[-1]) == (True, 1.0)


# ---- targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("at_most", "met"), [(None, None), (2.0, True), (1.9, False)])
def test_a_time_is_met_by_its_median(at_most, met):
    probe = Probe("t", replay([1.0, 2.0, 9.0]), at_most=at_most, warm_up=False)
    assert measure("x", probe, THREE_ROUNDS, ignore).met is met


@pytest.mark.parametrize(("at_most", "met"), [(None, None), (3.0, True), (2.9, False)])
def test_a_ratio_is_met_by_its_median(at_most, met):
    floor = Floor("f", replay([1.0, 1.0, 1.0]), at_most)
    probe = Probe("t", replay([1.0, 3.0, 9.0]), (floor,), warm_up=False)
    result = measure("x", probe, THREE_ROUNDS, ignore)
    assert (result.met, result.comparisons[0].met) == (None, met)
