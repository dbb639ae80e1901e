"""The exercises: the lecture's answers with the lecture's numbers, and sense with any other."""

import re
import tomllib
from random import Random

import pytest

from nexemu.lab.catalogue import EXPERIMENTS
from nexemu.lab.quiz.exercises import LANGUAGES, TEXTS, exercises
from nexemu.lab.quiz.instances import INSTANCES

EXERCISES = exercises()

LECTURE = {
    "by-hand": ["8, 12, 14, 15", "12.25", "6.5", "15, 11, 7, 4", "9.25"],
    "boost": ["1,020", "494"],
    "translation": [r"3 . 4096 \+ 904 = 13192", "20000"],
    "cow": ["616", "680", "168"],
    "block-table": ["8,192", "32 K", "8 M", "131,072", "512 K", "128 M"],
    "beam": ["63", "189"],
    "belady": ["FIFO 9", "LRU 10", "OPT 7"],
    "fault-cost": ["100 / 99,900", "0.1 %", "100 / 9,900", "1 %"],
}


def test_every_exercise_has_texts_an_instance_and_an_experiment():
    assert list(EXERCISES) == list(INSTANCES)
    assert set(EXERCISES) <= set(EXPERIMENTS)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", LECTURE)
def test_the_answer_is_the_lectures(name, language):
    _, answer = EXERCISES[name].pose(language)
    for part in LECTURE[name]:
        assert re.search(part, answer), f"{part} is not in: {answer}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("seed", [None, *range(6)])
def test_every_instance_fills_its_text(name, language, seed):
    for words in EXERCISES[name].pose(language, None if seed is None else Random(seed)):
        assert words
        assert "{" not in words
        assert not re.search(r"^\s|\s$|  ", words, re.MULTILINE)


@pytest.mark.parametrize("name", INSTANCES)
def test_both_languages_use_the_same_numbers(name):
    def braces(text):
        return sorted(set(re.findall(r"{(\w+)}", text)))

    row = tomllib.loads(TEXTS.read_text(encoding="utf-8"))[name]
    texts = [part for part in row.values() if isinstance(part, dict)]
    assert all(set(part) == set(LANGUAGES) for part in texts)
    for part in texts:
        assert set(braces(part["en"])) <= set(braces(part["zh"])) | {"batch"}


@pytest.mark.parametrize(("prompt", "answer"), [(1_024, "copies none"), (1_009, "copies 8")])
def test_a_prompt_that_ends_with_a_full_page_is_answered_as_such(monkeypatch, prompt, answer):
    monkeypatch.setattr("nexemu.lab.quiz.instances.PROMPT", prompt)
    assert answer in EXERCISES["cow"].pose("en")[1]


def test_a_beam_over_full_blocks_copies_nothing(monkeypatch):
    monkeypatch.setattr("nexemu.lab.quiz.instances.BEAM_PROMPT", 1_008)
    assert "Copy-on-write: none" in EXERCISES["beam"].pose("en")[1]
