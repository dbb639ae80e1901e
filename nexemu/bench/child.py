"""Commands that are measured as a person meets them: as processes, by the clock on the wall."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

import nexemu
from nexemu.bench.rig import Shown
from nexemu.errors import OperatorError

HOME: Final = Path(nexemu.__file__).parent.parent
"""A process started here finds this package, installed or not."""

NEXEMU: Final = (sys.executable, "-m", "nexemu")
PIECE: Final = 4096
"""More bytes than a guest writes at once."""


def process_seconds(command: Sequence[str], stdin: bytes = b"") -> float:
    """How long one waits for ``command``. Raises OperatorError when it fails."""
    start = perf_counter()
    done = subprocess.run(command, cwd=HOME, input=stdin, capture_output=True, check=False)
    took = perf_counter() - start
    _check(command, done.returncode, done.stderr)
    return took


def watch(command: Sequence[str], folder: Path) -> list[Shown]:
    """Run ``command`` in ``folder``: what it writes, and when. Raises OperatorError when it fails."""
    shown: list[Shown] = []
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, bufsize=0, stdin=nothing, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while data := process.stdout.read(PIECE):
            shown.append(Shown(perf_counter(), data))
        complaints = process.stderr.read()
    _check(command, process.returncode, complaints)
    return shown


def _check(command: Sequence[str], status: int, complaints: bytes) -> None:
    if status != 0:
        said = complaints.decode(errors="replace").strip()
        raise OperatorError(f"{' '.join(command)} ended with status {status}: {said}")
