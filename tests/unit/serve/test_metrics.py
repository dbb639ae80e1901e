import pytest
from serve_support import request

from nexemu.serve.engine import Outcome, Sample
from nexemu.serve.memory import Usage
from nexemu.serve.metrics import Latency, Objective, summarize
from nexemu.serve.request import MILLISECOND, SECOND, Record


def record(first, end, output=11, cached=0, arrival=0):
    return Record(
        request(10, output, arrival), admitted=arrival, first_token=first, finished=end, cached=cached
    )


def test_latencies_in_milliseconds():
    latency = Latency.of([MILLISECOND, 2 * MILLISECOND, 6 * MILLISECOND])
    assert (latency.mean, latency.median) == (3.0, 2.0)
    assert latency.p99 == pytest.approx(5.92)
    assert Latency.of([]) == Latency(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("made", "met"),
    [
        (record(2 * SECOND, 2 * SECOND + 500 * MILLISECOND), True),
        (record(2 * SECOND + 1, 2 * SECOND + 500 * MILLISECOND), False),
        (record(2 * SECOND, 2 * SECOND + 501 * MILLISECOND), False),
        (Record(request(10, 11)), False),
        (record(SECOND, SECOND, output=1), True),
    ],
)
def test_a_request_is_served_well_when_both_objectives_are_met(made, met):
    assert Objective().met_by(made) == met


def test_a_summary_by_hand():
    outcome = Outcome(
        [record(SECOND, SECOND + 100 * MILLISECOND, cached=5), record(3 * SECOND, 4 * SECOND)],
        [
            Sample(SECOND, Usage(stored=10, free=30), 1, 0),
            Sample(4 * SECOND, Usage(stored=30, free=10), 3, 0),
        ],
        steps=20,
        elapsed=4 * SECOND,
    )
    outcome.records.append(Record(request(99, 1), refused="too long"))
    summary = summarize(outcome)
    assert (summary.finished, summary.refused, summary.seconds) == (2, 1, 4.0)
    assert summary.tokens_per_second == 22 / 4
    assert summary.goodput == 1 / 4
    assert summary.served_well == 1 / 3
    assert summary.first_token.mean == 2000.0
    assert summary.per_token.mean == (10 + 100) / 2
    assert summary.hit_rate == 5 / 20
    assert summary.running == (1 * 1 + 3 * 3) / 4
    assert summary.usage["stored"] == pytest.approx((10 * 1 + 30 * 3) / 4 / 40)
    assert sum(summary.usage.values()) == pytest.approx(1)


def test_a_summary_of_nothing():
    summary = summarize(Outcome([]))
    assert (summary.finished, summary.tokens_per_second, summary.hit_rate, summary.running) == (
        0,
        0.0,
        0.0,
        0.0,
    )
    assert set(summary.usage.values()) == {0.0}
