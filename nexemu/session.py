"""One machine on this process's standard input and output, from boot to its end."""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from nexemu.events import Emit
from nexemu.kernel import Kernel, Options
from nexemu.policy import Scheduler
from nexemu.terminal import FileKeyboard, Leave, TerminalKeyboard, ended_by_signals, raw_input, write_stdout


def log(line: str) -> None:
    """What the kernel has to say goes to standard error: standard output is the guest's console."""
    print(f"[nexemu] {line}".replace("\n", "\n[nexemu] "), file=sys.stderr)


def run_machine(
    options: Options,
    scheduler: Scheduler,
    folders: Sequence[Path],
    argv: Sequence[bytes],
    emit: Emit | None,
) -> int:
    """Boot a machine on this process's standard input and output and run it to its end; init's status.
    ``folders`` fill its file system, the package's own guests first."""
    on_terminal = os.isatty(0)
    keyboard = TerminalKeyboard() if on_terminal else FileKeyboard()
    kernel = Kernel(options, scheduler, keyboard, write_stdout, log, emit)
    for folder in folders:
        kernel.load_files(folder)
    if argv:
        kernel.boot(argv, (folders[0] / "init").read_bytes())
    else:
        kernel.boot()
    with ExitStack() as stack:
        stack.enter_context(ended_by_signals(kernel.hart.interrupt, kernel.hart.stop))
        if isinstance(keyboard, TerminalKeyboard):
            stack.enter_context(raw_input())
            keyboard.listen(kernel.hart.stop)
        try:
            return kernel.run()
        except Leave:
            return 0
