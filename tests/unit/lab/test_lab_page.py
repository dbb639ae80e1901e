"""docs/LAB.md says what the experiments say, and leaves out no demo and no exercise."""

from pathlib import Path

import pytest
from lab_support import QUICK

from nexemu.lab.catalogue import EXPERIMENTS
from nexemu.lab.experiment import in_silence
from nexemu.lab.page import page, section

PAGE = Path(__file__).parents[3] / "docs" / "LAB.md"
HOW = "run: nexemu lab --page > docs/LAB.md"

IN_THE_LECTURE = [
    "code 01, demos 1 to 3",
    *(f"code 02, demo {number}" for number in range(1, 6)),
    *(f"code 03, demo {number}" for number in range(1, 6)),
    *(f"code 04, demo {number}" for number in range(1, 4)),
    *(f"exercise {number}" for number in (1, 2, 3, 4, 5, 7)),
]
"""What sections 1 to 4 number; exercise 6 belongs to section 5."""


@pytest.mark.parametrize("place", IN_THE_LECTURE)
def test_every_demo_and_exercise_has_a_section(place):
    assert any(place in experiment.place for experiment in EXPERIMENTS.values())
    assert place in PAGE.read_text()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_on_the_page_once(name):
    assert PAGE.read_text().count(f"`nexemu lab {name}`:") == 1


@pytest.mark.parametrize("name", QUICK)
def test_a_section_is_what_the_experiment_says(name):
    assert section(name, EXPERIMENTS[name]) in PAGE.read_text(), HOW


@pytest.mark.slow
def test_the_page_is_what_the_experiments_say():
    assert PAGE.read_text() == page(in_silence), HOW
