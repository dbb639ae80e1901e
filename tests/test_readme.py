"""The READMEs' commands do what is said there.

A ``make`` line is asked what it would run (``make -n``), and its last command is run; that leaves out
only the installation, which every test run has gone through. Folders of other people's programs are
stood in for by our own.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nexemu.model import cache
from nexemu.personality import GUESTS

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.zh-CN.md")
STAND_INS = {
    "my-elf-files/": str(GUESTS / "nexos"),
    "xv6-elf-files/": str(GUESTS / "xv6"),
    "usertests": "echo",  # xv6's own, which is not ours to ship
}


def shell_lines(readme):
    """The commands in the ``sh`` blocks of ``readme``, without their remarks."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / readme).read_text(), re.DOTALL)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]


def commands(readme):
    return [words for words in shell_lines(readme) if words != ["make", "test"]]


def as_run(words):
    """The words that are run in the end, and the environment that make would add."""
    if words[0] != "make":
        return words, {}
    told = subprocess.run(
        [words[0], "-n", *words[1:]],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=True,
    )
    last = told.stdout.splitlines()[-1].removeprefix("exec ")
    variables = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    last = last.replace('"$NEXEMU_CMD"', shlex.quote(variables.get("CMD", "")))
    switches = {name: variables[name] for name in ("LAZY_ALLOC", "COW_ALLOC") if name in variables}
    return shlex.split(last), switches


def run(words, folder):
    program, extra = as_run(words)
    assert program[0] == ".venv/bin/nexemu", program
    arguments = [STAND_INS.get(word, word) for word in program[1:]]
    return subprocess.run(
        [sys.executable, "-m", "nexemu", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **extra},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def needs_model(words):
    return any("smolprobe" in word for word in words)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """One folder for all commands: some use what an earlier one has written."""
    return tmp_path_factory.mktemp("readme")


@pytest.mark.parametrize("words", commands("README.md"), ids=" ".join)
def test_a_command_of_the_readme_works(words, workplace):
    if needs_model(words) and cache.ready("auto") is None:
        pytest.skip("no model in the cache")
    done = run(words, workplace)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_both_languages_give_the_same_commands():
    english, chinese = (shell_lines(readme) for readme in READMES)
    assert english == chinese


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_is_short(readme):
    assert len((ROOT / readme).read_text().splitlines()) < 120


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_has_its_pictures_and_they_are_small(readme):
    pictures = re.findall(r"!\[[^\]]+\]\((.*?)\)", (ROOT / readme).read_text())
    assert len(pictures) == 2
    assert all((ROOT / picture).stat().st_size < 100_000 for picture in pictures)
