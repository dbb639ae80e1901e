"""The results folder: a JSON file a submission, and a table of all.

Each file appears whole or not at all, as soon as its submission is graded, and remembers what it was
made from. So a run that was killed goes on where it stopped, and a submission, a rubric or a
nexemu that has changed is graded again.
"""

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from nexemu.errors import OperatorError
from nexemu.grade.classroom.job import Job
from nexemu.grade.rubric import Rubric

Result = dict[str, Any]
FORMULA: Final = ("=", "+", "-", "@", "\t")
"""A cell that begins so is a formula to a spreadsheet."""


class ResultsFolder:
    """The folder ``path``, made if need be. Raises OperatorError, here and wherever it writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OperatorError(f"--out {path}: {error.strerror}") from error

    def earlier(self, job: Job) -> Result | None:
        """What an earlier run has found out about this very job."""
        try:
            result = json.loads(self.file_of(job.name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return result if isinstance(result, dict) and result.get("digest") == job.digest else None

    def keep(self, result: Result) -> None:
        """Write one submission's file."""
        self.write(self.file_of(result["handler"]).name, json.dumps(result, indent=1, ensure_ascii=False))

    def write(self, name: str, text: str) -> None:
        """Write a file, whole or not at all."""
        unfinished = self.path / f".{name}.{os.getpid()}"
        try:
            unfinished.write_text(text + "\n", encoding="utf-8")
            unfinished.replace(self.path / name)
        except OSError as error:
            raise OperatorError(f"--out {self.path}: {error.strerror}") from error

    def file_of(self, name: str) -> Path:
        """The file of the submission ``name``, which may be called anything."""
        safe = re.sub(r"[^\w.-]", "_", name)[:80]
        if safe != name or safe.startswith("."):
            safe = f"{safe.lstrip('.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return self.path / f"{safe}.json"


def as_csv(results: Sequence[Result], rubric: Rubric) -> str:
    """One line a submission: its score, each test's points, and what was wrong with it."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["submission", "score", "points", *(test.name for test in rubric.tests), "problem"])
    for result in results:
        earned = {test["name"]: test["earned"] for test in result["tests"]}
        points = [earned.get(test.name, 0) for test in rubric.tests]
        table.writerow(
            cells([result["handler"], result["score"], result["points"], *points, result.get("problem", "")])
        )
    return out.getvalue().rstrip("\n")


def cells(row: Iterable[object]) -> list[object]:
    """``row``, with no text in it that a spreadsheet would calculate."""
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row]
