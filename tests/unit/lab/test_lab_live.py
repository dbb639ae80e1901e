"""Reference strings of real programs: recorded, kept in files, replayed under every policy."""

from itertools import pairwise
from pathlib import Path

import pytest
from support import MIB
from typer.testing import CliRunner

from nexemu.errors import OperatorError
from nexemu.evict.references import read_references, references_to
from nexemu.lab.command import app
from nexemu.lab.experiment import in_silence
from nexemu.lab.paging.live import faults_of
from nexemu.lab.paging.recorded import replay_all, sizes_for

BELADY = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]


def rows(references, frames):
    (table,) = replay_all(references, frames, 0, in_silence).tables
    return {row[0]: list(row[1:]) for row in table.rows}


# ---- files ------------------------------------------------------------------------------------


def test_a_file_gives_back_what_was_written(tmp_path):
    pages = [5 << 26 | 3, 7, *range(10_000)]
    with references_to(tmp_path / "r") as write:
        for page in pages:
            write(page)
    assert read_references(tmp_path / "r") == pages
    assert (tmp_path / "r").read_text().startswith("# nexemu: pages in the order of their use")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1\nx\n", "'x' is no page"),
        ("# only words\n", "there is no page in it"),
        ("1\n-2\n", "'-2' is no page"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_line(tmp_path, text, what):
    (tmp_path / "r").write_text(text)
    with pytest.raises(OperatorError, match=what):
        read_references(tmp_path / "r")
    with pytest.raises(OperatorError, match="No such file"):
        read_references(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(OperatorError, match="not a text file"):
        read_references(tmp_path / "binary")


def test_a_file_that_cannot_be_written_is_the_operators_business(tmp_path):
    with (
        pytest.raises(OperatorError, match=r"--record .*: No such file"),
        references_to(tmp_path / "no" / "folder"),
    ):
        pass
    with pytest.raises(OperatorError, match=r"--record .*: No space left"), references_to(Path("/dev/full")):
        pass


def test_what_goes_wrong_beside_the_file_is_not_blamed_on_it(tmp_path):
    with pytest.raises(BrokenPipeError), references_to(tmp_path / "r"):
        raise BrokenPipeError


# ---- replay -----------------------------------------------------------------------------------


def test_beladys_sequence_gives_the_misses_that_everybody_knows():
    got = rows(BELADY, [3, 4])
    assert (got["fifo"], got["lru"], got["opt"]) == ([9, 10], [10, 8], [7, 6])


def test_the_sizes_reach_from_two_frames_to_one_for_each_page():
    assert sizes_for([1, 2, 3] * 7) == [2, 3]
    assert sizes_for(range(100)) == [2, 4, 8, 16, 32, 64, 100]
    assert sizes_for([9]) == [2]


def test_the_command_replays_at_the_sizes_that_are_asked_for(tmp_path):
    path = tmp_path / "r"
    path.write_text("".join(f"{page}\n" for page in BELADY))
    done = CliRunner().invoke(app, ["replay", str(path), "--frames", "4,3"])
    assert done.exit_code == 0
    line = next(line for line in done.stdout.splitlines() if " fifo " in line)
    assert line.split()[3::2] == ["9", "10"]
    done = CliRunner().invoke(app, ["replay", str(path), "--frames", "3,x"])
    assert isinstance(done.exception, OperatorError)


# ---- real programs ----------------------------------------------------------------------------


def record(machine, *command):
    pages = []
    machine.run(*command, memory=16 * MIB, record=pages.append)
    return pages


def test_a_program_uses_its_pages_in_the_order_of_its_source(machine):
    """thrash goes over its pages in a circle: so does the recorded string."""
    pages = record(machine, "thrash", "40", "3")
    assert all(a != b for a, b in pairwise(pages))
    pid = pages[len(pages) // 2] >> 26
    heap = sorted({page for page in pages if page >> 26 == pid})[-40:]
    assert heap == list(range(heap[0], heap[0] + 40))
    walked = [page for page in pages if page in set(heap)]
    rounds = [page for page, before in zip(walked, [0, *walked], strict=False) if page != before]
    assert rounds == heap * 3


def test_a_recorded_program_is_the_same_each_time_and_does_the_same(machine):
    first, second = (record(machine, "workingset", "30", "10", "2") for _ in range(2))
    assert first == second
    pages = []
    recorded = machine.run("workingset", "30", "10", "2", record=pages.append)
    assert recorded.text == machine.run("workingset", "30", "10", "2").text


def test_two_processes_have_pages_of_their_own(machine):
    pages = record(machine, "interleave")
    assert len({page >> 26 for page in pages}) == 4, "init twice, parent and child"


def test_no_policy_beats_opt_on_a_real_program(machine):
    got = rows(record(machine, "workingset", "60", "12", "3"), [4, 8, 16, 32, 64])
    assert all(got["opt"][n] <= misses[n] for misses in got.values() for n in range(5))
    assert got["lru"] == sorted(got["lru"], reverse=True)


@pytest.mark.usefixtures("guests")
def test_the_knee_of_a_real_machine_is_at_its_working_set():
    few, enough, all_of_them = (
        faults_of("clock", frames, ("workingset", "120", "60", "2"), 0) for frames in (64, 90, 150)
    )
    assert few > 5 * enough
    assert all_of_them == 120, "each page is touched first once, and nothing leaves"


def test_a_guest_that_is_not_there_is_the_operators_business():
    with pytest.raises(OperatorError, match="make guests"):
        faults_of("clock", 100, ("nothing",), 0)
