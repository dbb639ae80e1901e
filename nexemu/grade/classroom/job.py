"""One submission, graded in a process of its own.

So a submission that brings even the grading process down costs its own line only, and the same job
can be done here, or on any computer that a Dask cluster sends it to.
"""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from nexemu import __version__
from nexemu.errors import OperatorError
from nexemu.grade.classroom.submissions import HandedIn
from nexemu.grade.contestant import Submission
from nexemu.grade.grader import grade
from nexemu.grade.guest_test import GuestTest
from nexemu.grade.report.formats import plain
from nexemu.grade.rubric import DEFAULT, Rubric, read_rubric
from nexemu.grade.sandbox.limits import protect_this_process

LAST_RESORT_SECONDS: Final = 3600
"""No submission comes near it: every test has its own limits."""
PACKAGE: Final = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be graded, by which rubric file; "" is nexemu's own, wherever it is installed."""

    name: str
    text: str
    rubric: str

    @property
    def rubric_file(self) -> Path:
        """Where the rubric is."""
        return Path(self.rubric) if self.rubric else DEFAULT

    @property
    def digest(self) -> str:
        """Equal when the result would be equal."""
        tests = read_rubric(self.rubric_file).tests
        programs = [test.what.program for test in tests if isinstance(test.what, GuestTest)]
        parts = [__version__.encode(), self.rubric_file.read_bytes(), self.text.encode()]
        parts += [program.read_bytes() for program in programs if program.is_file()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def graded_apart(job: Job) -> dict[str, Any]:
    """The grade of ``job`` as plain values, from a process that ends with it."""
    path = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "nexemu.grade.classroom.job"]  # -P: nothing from here
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asdict(job)).encode(),
            capture_output=True,
            check=False,
            timeout=LAST_RESORT_SECONDS,
            env={**os.environ, "PYTHONPATH": path},
        )
        return {**json.loads(done.stdout), "digest": job.digest}
    except subprocess.TimeoutExpired:
        why = "the grading process did not come to an end"
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        why = ": ".join(["the grading process did not survive it", *said])
    return broken(HandedIn(job.name, None, why), read_rubric(job.rubric_file))


def broken(handed_in: HandedIn, rubric: Rubric) -> dict[str, Any]:
    """The grade of what cannot be graded."""
    row = {"handler": handed_in.name, "score": 0, "points": rubric.points, "tests": []}
    return {**row, "problem": handed_in.problem}


def main() -> None:
    """Read a job from standard input, write its grade to standard output."""
    job = Job(**json.load(sys.stdin))
    protect_this_process()
    try:
        report = grade(Submission(job.name, job.text), read_rubric(job.rubric_file), lambda _verdict: None)
    except OperatorError as error:
        print(f"nexemu: {error}", file=sys.stderr)
        sys.exit(2)
    json.dump(plain(report, show_hidden=True), sys.stdout)


if __name__ == "__main__":
    main()
