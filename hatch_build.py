"""Hatch's build hook: compile the guest programs, so that the wheel carries them.

Role: ``pip install .``, ``pip install -e .`` and ``pip wheel .`` give a package that can run
programs at once. Owns nothing: ``guest/build.py`` does the work and keeps what is up to date.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GuestHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before the files of a wheel are collected; an sdist carries the sources only."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill ``nexemu/guests``; a program that does not compile ends the installation."""
        done = subprocess.run([sys.executable, Path(self.root, "guest", "build.py")], check=False)
        if done.returncode != 0:
            sys.exit("the guest programs do not compile; the lines above say why")
