"""A rubric: which tests, in which order, for how many points, and who may see them.

It is a TOML file. A test is a check of the catalogue by its name, or a guest program with what is
expected of it, so that a new test takes no Python at all.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nexemu.errors import OperatorError
from nexemu.grade.checks.catalogue import CATALOGUE
from nexemu.grade.checks.check import Check
from nexemu.grade.guest_test import FAULTS, INSTRUCTIONS, MIB, PROGRAMS, GuestTest

DEFAULT: Final = Path(__file__).parent / "rubric.toml"
KEYS: Final = frozenset(
    {
        *("name", "points", "visible", "eager", "hint"),
        *("guest", "status", "kills", "faults", "memory_mib", "instructions", "books"),
    }
)


@dataclass(frozen=True, slots=True)
class Test:
    """One line of the grade. ``eager`` says that a handler without any laziness earns it."""

    __test__ = False  # pytest: this is no test case

    name: str
    points: int
    what: Check | GuestTest
    hint: str
    visible: bool = True
    eager: bool = False

    @property
    def about(self) -> str:
        """The test in a sentence."""
        return self.what.about


@dataclass(frozen=True, slots=True)
class Rubric:
    """The tests, in order."""

    title: str
    tests: tuple[Test, ...]

    @property
    def points(self) -> int:
        """The best grade."""
        return sum(test.points for test in self.tests)

    def only(self, name: str) -> "Rubric":
        """The tests whose name contains ``name``. Raises OperatorError when there is none."""
        found = tuple(test for test in self.tests if name.lower() in test.name.lower())
        if not found:
            raise OperatorError(f"--only {name}: no test is called so; `nexemu grade --list` shows them")
        return Rubric(self.title, found)


def read_rubric(path: Path = DEFAULT) -> Rubric:
    """The rubric in the file ``path``. Raises OperatorError."""
    try:
        with path.open("rb") as opened:
            table = tomllib.load(opened)
    except OSError as error:
        raise OperatorError(f"rubric {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OperatorError(f"rubric {path}: {error}") from error
    rows = table.get("test")
    if not isinstance(rows, list) or not rows:
        raise OperatorError(f"rubric {path}: no [[test]] in it")
    tests = tuple(_test(row, path) for row in rows)
    names = [test.name for test in tests]
    for name in names:
        if names.count(name) > 1:
            raise OperatorError(f"rubric {path}: two tests are called {name!r}")
    return Rubric(str(table.get("title", path.stem)), tests)


def _test(row: Any, path: Path) -> Test:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise OperatorError(f"rubric {path}: each [[test]] needs a name")
    name = row["name"]
    wrong = _what_is_wrong(row)
    if wrong:
        raise OperatorError(f"rubric {path}: test {name!r}: {wrong}")
    what = _guest_test(row, path) if "guest" in row else CATALOGUE[name]
    if isinstance(what, GuestTest) and not what.program.is_file() and (PROGRAMS / "init").is_file():
        beside = f"there is no program {what.command[0]!r} beside the rubric, nor among nexemu's own"
        raise OperatorError(f"rubric {path}: test {name!r}: {beside}")
    hint = what.hint if isinstance(what, Check) else str(row.get("hint", "the whole handler"))
    return Test(name, row["points"], what, hint, row.get("visible", True), row.get("eager", False))


def _what_is_wrong(row: Mapping[str, Any]) -> str | None:
    """What cannot be understood about a [[test]], if anything."""
    unknown = row.keys() - KEYS
    if unknown:
        return f"unknown key {', '.join(sorted(unknown))}"
    if type(row.get("points")) is not int or row["points"] < 0:
        return "points must be a whole number, 0 or more"
    for key in ("visible", "eager", "books"):
        if not isinstance(row.get(key, True), bool):
            return f"{key} must be true or false"
    if "guest" not in row:
        return None if row["name"] in CATALOGUE else "no such check, and no guest = [...] either"
    return _what_is_wrong_with_guest(row)


def _what_is_wrong_with_guest(row: Mapping[str, Any]) -> str | None:
    guest, faults = row["guest"], row.get("faults", {})
    if not isinstance(guest, list) or not guest or not all(isinstance(word, str) for word in guest):
        return 'guest must be a list of words, e.g. ["lazydemo", "64"]'
    for key in ("status", "kills", "memory_mib", "instructions"):
        if type(row.get(key, 0)) is not int:
            return f"{key} must be a whole number"
    if not isinstance(faults, dict) or not all(_is_range(bounds) for bounds in faults.values()):
        return "faults must be a table of numbers, or of [least, most]"
    if not faults.keys() <= FAULTS:
        return f"faults must be of the kinds {', '.join(sorted(FAULTS))}"
    return None


def _is_range(bounds: object) -> bool:
    if isinstance(bounds, list):
        return len(bounds) == 2 and all(type(bound) is int for bound in bounds)
    return type(bounds) is int


def _guest_test(row: Mapping[str, Any], path: Path) -> GuestTest:
    """Programs are looked up in the rubric's own folder first, then among the package's."""
    program = row["guest"][0]
    folder = path.parent if (path.parent / program).is_file() else PROGRAMS
    faults = {
        kind: (bounds[0], bounds[1]) if isinstance(bounds, list) else (bounds, bounds)
        for kind, bounds in row.get("faults", {}).items()
    }
    return GuestTest(
        command=tuple(row["guest"]),
        folder=folder,
        status=row.get("status", 0),
        kills=row.get("kills", 0),
        faults=faults,
        memory=row.get("memory_mib", 16) * MIB,
        instructions=row.get("instructions", INSTRUCTIONS),
        books=row.get("books", True),
    )
