"""The package keeps the house rules, and each rule can see what breaks it."""

from pathlib import Path

import pytest
from house_rules import (
    RULES,
    SHORT_FILES,
    SHORTEST,
    Module,
    below_floor_5_nothing_depends_on_the_host,
    every_room_has_a_floor,
    files_are_neither_long_nor_scraps,
    functions_are_short,
    house_of,
    imports_are_whole_and_absolute,
    imports_lead_down,
    imports_stand_at_the_top,
    modules_and_functions_say_what_they_are,
    modules_hold_no_state,
    no_import_is_for_types_only,
    only_the_machine_knows_unicorn,
)

PACKAGE = Path(__file__).parent.parent / "nexemu"


# ---- the rules on the house -------------------------------------------------------------------


@pytest.fixture(scope="module")
def house():
    files = sorted(PACKAGE.rglob("*.py"))
    return house_of(*(Module(file.relative_to(PACKAGE).as_posix(), file.read_text()) for file in files))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps(rule, house):
    complaints = [complaint for module in house.modules for complaint in rule(module, house)]
    assert not complaints, "\n" + "\n".join(complaints)


def test_the_house_is_not_empty(house):
    assert len(house.modules) > 30


@pytest.mark.parametrize("path", SHORT_FILES)
def test_an_exemption_is_still_needed(path, house):
    lines = {module.path: len(module.text.splitlines()) for module in house.modules}
    assert lines[path] < SHORTEST


# ---- the rules on made-up modules -------------------------------------------------------------

BODY = "    x()\n"
BROKEN = [
    (every_room_has_a_floor, "attic/box.py", "", "FLOOR_OF"),
    (imports_lead_down, "mem/vm.py", "from nexemu.proc.proc import Proc", "floor 1 imports nexemu.proc"),
    (imports_lead_down, "param.py", "import nexemu.fs", "floor 0 imports nexemu.fs from floor 1"),
    (imports_lead_down, "kernel.py", "from nexemu import cli", "floor 4 imports nexemu.cli"),
    (imports_lead_down, "mem/vm.py", "from nexemu.attic import x", "from floor 99"),
    (imports_lead_down, "mem/vm.py", "from nexemu.fs import file", "from the same floor"),
    (imports_lead_down, "grade/g.py", "def f():\n    import nexemu.observe.trace", "from the same floor"),
    (imports_are_whole_and_absolute, "mem/vm.py", "from nexemu.riscv import *", "riscv.*"),
    (imports_are_whole_and_absolute, "mem/vm.py", "from . import sv39", ".sv39"),
    (imports_are_whole_and_absolute, "mem/vm.py", "from ..riscv import VA", "..riscv.VA"),
    (imports_stand_at_the_top, "mem/vm.py", "def f():\n    import os", "f imports os"),
    (imports_stand_at_the_top, "mem/vm.py", "class C:\n    from os import path", "C imports os.path"),
    (no_import_is_for_types_only, "mem/vm.py", "from typing import TYPE_CHECKING", "TYPE_CHECKING"),
    (no_import_is_for_types_only, "mem/vm.py", "if typing.TYPE_CHECKING:\n    pass", "TYPE_CHECKING"),
    (only_the_machine_knows_unicorn, "kernel.py", "from unicorn.riscv_const import X", "unicorn"),
    (only_the_machine_knows_unicorn, "cli.py", "import unicorn as uc", "unicorn"),
    (below_floor_5_nothing_depends_on_the_host, "fs/file.py", "from time import time", "time.time"),
    (below_floor_5_nothing_depends_on_the_host, "kernel.py", "import random", "random"),
    (below_floor_5_nothing_depends_on_the_host, "trap/gate.py", "def f():\n    print(1)", "prints in line 2"),
    (files_are_neither_long_nor_scraps, "mem/vm.py", "x = 1\n" * 251, "251 lines"),
    (files_are_neither_long_nor_scraps, "mem/vm.py", "x = 1\n" * 39, "only 39 lines"),
    (functions_are_short, "mem/vm.py", "def f():\n" + BODY * 40, "f has 41 lines"),
    (functions_are_short, "mem/vm.py", "class C:\n  def f(self):\n    'Doc.'\n" + BODY * 40, "41 lines"),
    (functions_are_short, "mem/vm.py", "def f():\n  def g():\n" + "    x()\n" * 40, "g has 41 lines"),
    (modules_hold_no_state, "mem/vm.py", "cache = {}", "line 1"),
    (modules_hold_no_state, "mem/vm.py", "seen: list[int] = []", "line 1"),
    (modules_hold_no_state, "mem/vm.py", "a = b = collections.deque()", "line 1"),
    (modules_hold_no_state, "mem/vm.py", "class C:\n    seen = {x for x in y}", "line 2"),
    (modules_hold_no_state, "mem/vm.py", "def f():\n    global n\n    n = 1", "global n"),
    (modules_and_functions_say_what_they_are, "mem/vm.py", "x = 1", "the module has no docstring"),
    (modules_and_functions_say_what_they_are, "mem/vm.py", "'M.'\ndef f():\n" + BODY * 2, "f has no"),
    (
        modules_and_functions_say_what_they_are,
        "mem/vm.py",
        "'M.'\nclass C:\n def f(s):\n  x()\n  x()",
        "f has no",
    ),
]

SOUND = [
    (imports_lead_down, "kernel.py", "from nexemu.trap import gate\nfrom nexemu import riscv, __version__"),
    (imports_lead_down, "mem/vm.py", "import os\nfrom nexemu.mem import sv39\nfrom nexemu import errors"),
    (imports_lead_down, "memlayout.py", "from nexemu.riscv import PGSIZE"),
    (imports_lead_down, "__main__.py", "from nexemu.cli import main"),
    (only_the_machine_knows_unicorn, "machine/hart.py", "import unicorn"),
    (below_floor_5_nothing_depends_on_the_host, "lab/l.py", "import time, random\nprint(1)"),
    (files_are_neither_long_nor_scraps, "mem/__init__.py", ""),
    (files_are_neither_long_nor_scraps, "mem/vm.py", "x = 1\n" * 250),
    (functions_are_short, "mem/vm.py", "def f():\n    '''Two\n    lines.'''\n" + BODY * 39),
    (
        modules_hold_no_state,
        "mem/vm.py",
        "A: Final = {}\nB: Mapping[int, int] = {}\nC = (1, 2)\nD = frozenset()",
    ),
    (modules_hold_no_state, "mem/vm.py", "class C:\n    a: list[int] = field(default_factory=list)"),
    (modules_hold_no_state, "mem/vm.py", "def f():\n    a = []"),
    (modules_and_functions_say_what_they_are, "mem/vm.py", "'M.'\ndef f(): return 1\ndef _g():\n" + BODY * 2),
    (
        modules_and_functions_say_what_they_are,
        "mem/vm.py",
        "'M.'\nclass P:\n def f(s): 'Contract.'\nclass C:\n def f(s):\n  x()\n  x()",
    ),
]


def complaints_about(rule, path, text):
    module = Module(path, text)
    return "\n".join(rule(module, house_of(module)))


@pytest.mark.parametrize(("rule", "path", "text", "expected"), BROKEN)
def test_a_rule_sees_what_breaks_it(rule, path, text, expected):
    assert expected in complaints_about(rule, path, text)


@pytest.mark.parametrize(("rule", "path", "text"), SOUND)
def test_a_rule_accepts_what_keeps_it(rule, path, text):
    assert complaints_about(rule, path, text) == ""


def test_every_rule_is_seen_to_fail():
    assert {rule for rule, *_ in BROKEN} == set(RULES)
