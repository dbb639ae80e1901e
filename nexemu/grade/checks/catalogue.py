"""Every check there is, by the name that a rubric calls it."""

from collections.abc import Mapping
from typing import Final

from nexemu.grade.checks import breaks, copies, cow, forks, lazy
from nexemu.grade.checks.check import Check

CATALOGUE: Final[Mapping[str, Check]] = {
    check.name: check for check in (*lazy.CHECKS, *breaks.CHECKS, *copies.CHECKS, *cow.CHECKS, *forks.CHECKS)
}
