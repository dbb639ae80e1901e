"""Probes of booting: how soon the shell's prompt is there.

As a person meets it, a whole process from the first instruction of Python to the shell's last; and
as the kernel does it, from an empty RAM to the prompt.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, thread_time
from typing import Final

import nexemu
from nexemu.bench.probe import Floor, Probe, Setting
from nexemu.bench.rig import Stopwatch, guest_folder, quiet_kernel
from nexemu.errors import OperatorError
from nexemu.kernel import Options

HOME: Final = Path(nexemu.__file__).parent.parent
"""A process started here finds this package, installed or not."""

NEXEMU: Final = (sys.executable, "-m", "nexemu")
PROMPT: Final = b"$ "


def boot(setting: Setting) -> Probe:
    """``nexemu run`` with ``exit`` on its standard input."""
    guest_folder()
    bare = (sys.executable, "-c", "import unicorn")
    return Probe(
        "boot to prompt, process",
        lambda: process_seconds([*NEXEMU, "run"], b"exit\n"),
        (Floor("Python, import unicorn", lambda: process_seconds(bare)),),
        at_most=0.4,
        warm_up=not setting.quick,
    )


def process_seconds(command: Sequence[str], stdin: bytes = b"") -> float:
    """How long one waits for ``command``. Raises OperatorError when it fails."""
    start = perf_counter()
    done = subprocess.run(command, cwd=HOME, input=stdin, capture_output=True, check=False)
    took = perf_counter() - start
    if done.returncode != 0:
        raise OperatorError(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace').strip()}")
    return took


def boot_inside(setting: Setting) -> Probe:
    """A kernel with the guests in its file system, until the shell shows its prompt."""
    folder = guest_folder()

    def sample() -> float:
        console = Stopwatch(PROMPT)
        start = thread_time()
        kernel = quiet_kernel(Options(), console)
        kernel.load_files(folder)
        kernel.boot()
        kernel.run()
        return console.when(PROMPT) - start

    return Probe("boot to prompt, kernel alone", sample)
