"""Processes, threads and the GIL: what is shared, and that times are taken; not how long they are."""

import os
import signal
import sys

import pytest

from nexemu.errors import OperatorError
from nexemu.lab.experiment import Trial
from nexemu.lab.processes import gil, round_trips, sharing
from nexemu.lab.processes.experiment import PROCESS
from nexemu.lab.processes.samples import Samples, timed
from nexemu.lab.processes.sharing import Seen, what_is_seen


def test_a_thread_changes_mains_memory_and_a_process_its_own():
    assert what_is_seen() == Seen(after_thread=1, by_process=2, after_process=1)


def test_a_process_that_cannot_start_is_the_operators_fault(monkeypatch):
    monkeypatch.setattr(sharing, "change_and_tell", sys.exit)
    with pytest.raises(OperatorError, match="died at once"):
        what_is_seen()


def test_a_process_that_is_started_deaf_hears_no_interrupt_and_main_does():
    here, there = sharing.SPAWNED.Pipe()
    process = sharing.SPAWNED.Process(target=round_trips.answer_over, args=(there,))
    with sharing.deaf():
        process.start()
    os.kill(process.pid, signal.SIGINT)
    here.send(7)
    assert here.recv() == 7
    here.send(round_trips.STOP)
    process.join()
    assert process.exitcode == 0
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_the_first_time_does_not_count_and_each_is_divided():
    calls = []
    samples = timed(lambda: calls.append(1), times=3, per=10)
    assert len(calls) == 4
    assert len(samples.seconds) == 3


def test_a_row_is_median_fastest_and_slowest():
    assert Samples((0.3, 0.1, 0.2)).row(unit=0.1) == pytest.approx((2, 1, 3))


def test_everything_that_is_sent_comes_back(monkeypatch):
    monkeypatch.setattr(round_trips, "TRIPS", 3)
    monkeypatch.setattr(round_trips, "CALLS", 3)
    samples = round_trips.round_trips()
    assert list(samples) == ["function call", "another thread", "another process"]
    assert all(min(taken.seconds) > 0 for taken in samples.values())


def test_another_interpreter_is_asked_about_its_gil(monkeypatch):
    """This one stands in for it."""
    monkeypatch.setattr(gil.shutil, "which", {"python3.13t": sys.executable}.get)
    (found,) = gil.free_threaded()
    assert found.version == sys.version.split()[0]
    assert found.gil == gil.spin_module.gil_is_on()
    assert len(found.series.seconds) == len(found.threads.seconds) == gil.TIMES


@pytest.mark.parametrize("command", ["/nonexistent/python3.13t", "/bin/false"])
def test_one_that_cannot_run_is_left_out(monkeypatch, command):
    monkeypatch.setattr(gil.shutil, "which", {"python3.14t": command}.get)
    assert gil.free_threaded() == []


@pytest.mark.slow
def test_the_experiment_measures_all_three_demos():
    report = PROCESS.run(Trial(1))
    trips, copies = report.tables
    assert len(trips.rows) == 3
    assert len(copies.rows) >= 6
    assert [check.ours for check in report.checks[:3]] == [1, 2, 1]
    assert sum(check.measured for check in report.checks) >= 4
