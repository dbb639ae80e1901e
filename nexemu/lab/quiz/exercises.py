"""The exercises as they are posed: the texts, in two languages, filled with an instance's numbers.

``texts.toml`` has a table for each exercise of :data:`~nexemu.lab.quiz.instances.INSTANCES`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from nexemu.lab.quiz.instances import INSTANCES

LANGUAGES: Final = ("en", "zh")
TEXTS: Final = Path(__file__).with_name("texts.toml")


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise: where it is from, and its texts by language."""

    name: str
    place: str
    title: Mapping[str, str]
    texts: Mapping[str, Mapping[str, str]]

    def pose(self, language: str, dice: Random | None = None) -> tuple[str, str]:
        """The question and the answer, with the lecture's numbers or with those that ``dice`` throw."""
        instance = INSTANCES[self.name](dice)
        question, answer = (self.texts[part][language] for part in ("question", instance.answer))
        return _filled(question, instance.numbers), _filled(answer, instance.numbers)


def exercises() -> dict[str, Exercise]:
    """All, by name, in the order of the lecture."""
    tables: dict[str, Any] = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    return {name: Exercise(name, row.pop("place"), row.pop("title"), row) for name, row in tables.items()}


def _filled(text: str, numbers: Mapping[str, object]) -> str:
    """Indented in the file, flush here."""
    return "\n".join(line.strip() for line in text.format_map(numbers).splitlines())
