"""Probes of booting: how soon the shell's prompt is there.

As a person meets it, a whole process from the first instruction of Python to the shell's last; and
as the kernel does it, from an empty RAM to the prompt.
"""

import sys
from time import thread_time
from typing import Final

from nexemu.bench.child import NEXEMU, process_seconds
from nexemu.bench.probe import Floor, Probe, Setting
from nexemu.bench.rig import Stopwatch, first_with, guest_folder, quiet_kernel
from nexemu.kernel import Options

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


def boot_inside(setting: Setting) -> Probe:
    """A kernel with the guests in its file system, until the shell shows its prompt."""
    folder = guest_folder()

    def sample() -> float:
        console = Stopwatch()
        start = thread_time()
        kernel = quiet_kernel(Options(), console)
        kernel.load_files(folder)
        kernel.boot()
        kernel.run()
        prompt = first_with(PROMPT, console.shown)
        return console.shown[prompt].at - start

    return Probe("boot to prompt, kernel alone", sample)
