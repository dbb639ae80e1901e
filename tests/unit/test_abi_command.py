"""The page of system calls says what the tables say."""

from pathlib import Path

from nexemu.abi import CONTRACTS, NEXOS, XV6
from nexemu.abi_command import page

PAGE = Path(__file__).parents[2] / "docs" / "ABI.md"


def test_docs_abi_is_what_the_command_prints():
    assert PAGE.read_text() == page(), "run: nexemu abi > docs/ABI.md"


def test_every_call_has_a_contract_and_every_contract_a_call():
    assert {row.name for row in (*NEXOS, *XV6)} == set(CONTRACTS)


def test_a_row_shows_number_prototype_result_and_errors():
    assert "| 6 | `int wait(int *status)` | the pid of a child that ended" in page()
    assert "| 3 | `int wait(int *status)` | the pid of a child that ended" in page()


def test_differences_are_shown_with_their_meaning():
    assert "| `sleep_below_zero_returns` | no | yes | a negative number of ticks is none" in page()
