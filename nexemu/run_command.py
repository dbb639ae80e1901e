"""``nexemu run``: boot a machine, with a shell or with one program."""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final

import typer

from nexemu.errors import OperatorError
from nexemu.events import Emit
from nexemu.kernel import Kernel, Options
from nexemu.model import cache
from nexemu.observe.counters import Counters
from nexemu.observe.recorder import fan_out
from nexemu.observe.trace import TraceWriter
from nexemu.param import MAXARG, QUANTUM, RAM_BYTES, RAM_BYTES_WITH_MODEL
from nexemu.personality import NEXOS, PERSONALITIES, XV6, XV6_ONE_ARGUMENT_SBRK, Personality
from nexemu.policy import Scheduler
from nexemu.sched import POLICIES, Setup
from nexemu.terminal import FileKeyboard, Leave, TerminalKeyboard, interruptible, raw_input, write_stdout

GUESTS: Final = Path(__file__).parent / "guests"
"""The compiled guest programs, as the package carries them: a folder for each personality."""

UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
ARGUMENT_ROOM: Final = 3500
"""Bytes of arguments that leave a guest some of its one stack page."""

SIZE: Final = re.compile(r"(\d+)([KMG]?)", re.IGNORECASE)

Program = Annotated[
    list[str] | None, typer.Argument(help="A program of the image and its arguments; without one, a shell.")
]
ShellCommand = Annotated[
    str | None, typer.Option("--shell-command", "-c", help="Let the shell run this line, and leave.")
]
Lazy = Annotated[
    bool, typer.Option("--lazy/--no-lazy", envvar="LAZY_ALLOC", help="sbrk maps a page when it is touched.")
]
Cow = Annotated[
    bool, typer.Option("--cow/--no-cow", envvar="COW_ALLOC", help="fork shares a page until it is written.")
]
Abi = Annotated[str, typer.Option(help=f"Whose user programs to run: {' or '.join(PERSONALITIES)}.")]
OneArgumentSbrk = Annotated[
    bool, typer.Option("--one-argument-sbrk", help="With --abi xv6: programs from before lazy sbrk (2025).")
]
Mem = Annotated[str | None, typer.Option(help="RAM, e.g. 256M. 128M without it, 1536M with a model.")]
Image = Annotated[Path | None, typer.Option(help="A folder whose files join the guest's; its names win.")]
Sched = Annotated[str, typer.Option(help=f"Who runs next: {', '.join(POLICIES)}.")]
Quantum = Annotated[int, typer.Option(min=1, help="A turn, in instructions, for the policies that have one.")]
Audit = Annotated[bool, typer.Option("--audit", help="After every trap, check all counts. Slow.")]
Stats = Annotated[bool, typer.Option("--stats", help="At the end, print what the machine counted.")]
Trace = Annotated[Path | None, typer.Option(help="Write every event to this file, one JSON line each.")]

app = typer.Typer(add_completion=False)


def parse_size(text: str) -> int:
    """``128M`` in bytes. Raises OperatorError."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise OperatorError(f"--mem {text}: give a size such as 128M or 1G")
    return int(found[1]) * UNITS[found[2].upper()]


def log(line: str) -> None:
    """What the kernel has to say goes to standard error: standard output is the guest's console."""
    print(f"[nexemu] {line}".replace("\n", "\n[nexemu] "), file=sys.stderr)


@app.command()
def run(
    program: Program = None,
    shell_command: ShellCommand = None,
    lazy: Lazy = True,
    cow: Cow = True,
    abi: Abi = NEXOS.name,
    one_argument_sbrk: OneArgumentSbrk = False,
    mem: Mem = None,
    image: Image = None,
    sched: Sched = "round-robin",
    quantum: Quantum = QUANTUM,
    audit: Audit = False,
    stats: Stats = False,
    trace: Trace = None,
) -> None:
    """Boot a machine. Ctrl-A X leaves, Ctrl-C ends the foreground program, Ctrl-P lists processes."""
    if program and shell_command is not None:
        raise OperatorError("give either a program or --shell-command, not both")
    personality = _personality(abi, one_argument_sbrk)
    argv = _init_arguments(program or [], shell_command, personality.limits.argument_bytes - 1)
    folders = [_guests(personality), *_images(image, personality)]
    options = Options(lazy, cow, _memory(mem, folders), personality, audit)
    counters = Counters()
    with ExitStack() as stack:
        listeners: list[Emit] = [counters] if stats else []
        if trace is not None:
            listeners.append(stack.enter_context(TraceWriter(trace)))
        status = run_machine(options, _scheduler(sched, quantum), folders, argv, fan_out(listeners))
    if stats:
        import_module("nexemu.observe.report").print_to_stderr(counters)  # rich is slow to load
    raise typer.Exit(status & 0xFF)


def _init_arguments(program: Sequence[str], shell_command: str | None, longest: int) -> list[bytes]:
    """What init is started with: nothing for a shell, or what to run in its place. No argument may have more
    than ``longest`` bytes; the shell puts a line together again that comes in pieces."""
    if shell_command is not None:
        line = os.fsencode(shell_command)
        pieces = [line[at : at + longest] for at in range(0, len(line), longest)]
        return _fitting([b"init", b"-c", *(pieces or [b""])])
    arguments = [os.fsencode(argument) for argument in program]
    for argument in arguments:
        if len(argument) > longest:
            shown = argument[:20].decode(errors="replace")
            raise OperatorError(f"argument {shown!r}... has {len(argument)} bytes; a guest takes {longest}")
    return _fitting([b"init", b"--", *arguments]) if program else []


def _fitting(argv: list[bytes]) -> list[bytes]:
    """``argv``, unless it is more than exec takes: MAXARG strings, together on the one stack page."""
    if len(argv) >= MAXARG or sum(len(argument) + 16 for argument in argv) > ARGUMENT_ROOM:
        raise OperatorError(
            f"the command line is too long: {MAXARG - 3} words, {ARGUMENT_ROOM} bytes at most"
        )
    return argv


def _personality(name: str, one_argument_sbrk: bool) -> Personality:
    if name not in PERSONALITIES:
        raise OperatorError(f"--abi {name}: there are {', '.join(PERSONALITIES)}")
    personality = PERSONALITIES[name]
    if not one_argument_sbrk:
        return personality
    if personality is not XV6:
        raise OperatorError("--one-argument-sbrk goes with --abi xv6")
    return XV6_ONE_ARGUMENT_SBRK


def _guests(personality: Personality) -> Path:
    folder = GUESTS / personality.name
    if not (folder / "init").is_file():
        raise OperatorError(f"no guest programs in {folder}: run `make guests`")
    return folder


def _images(image: Path | None, personality: Personality) -> list[Path]:
    """The folder asked for, or the model's image where one is ready."""
    if image is not None:
        return [image]
    if personality is not NEXOS:
        return []
    ready = cache.ready(os.environ.get("MODEL") or "auto")
    if ready == cache.image_folder(cache.SYNTHETIC):
        log("the model's weights are noise of the right size: page counts are true, its text is not")
    return [ready] if ready is not None else []


def _memory(mem: str | None, folders: Sequence[Path]) -> int:
    if mem is not None:
        return parse_size(mem)
    if any((folder / "CFG.BIN").exists() for folder in folders):
        log(f"the image holds a model: RAM is {RAM_BYTES_WITH_MODEL >> 20}M, not {RAM_BYTES >> 20}M")
        return RAM_BYTES_WITH_MODEL
    return RAM_BYTES


def _scheduler(name: str, quantum: int) -> Scheduler:
    if name not in POLICIES:
        raise OperatorError(f"--sched {name}: there are {', '.join(POLICIES)}")
    return POLICIES[name](Setup(quantum=quantum))


def run_machine(
    options: Options,
    scheduler: Scheduler,
    folders: Sequence[Path],
    argv: Sequence[bytes],
    emit: Emit | None,
) -> int:
    """Boot a machine on this process's standard input and output and run it to its end; init's status.
    ``folders`` fill its file system, the package's own guests first."""
    on_terminal = sys.stdin.isatty()
    keyboard = TerminalKeyboard() if on_terminal else FileKeyboard()
    kernel = Kernel(options, scheduler, keyboard, write_stdout, log, emit)
    for folder in folders:
        kernel.load_files(folder)
    if argv:
        kernel.boot(argv, (folders[0] / "init").read_bytes())
    else:
        kernel.boot()
    with ExitStack() as stack:
        if isinstance(keyboard, TerminalKeyboard):
            stack.enter_context(raw_input())
            keyboard.listen(kernel.hart.stop)
        else:
            stack.enter_context(interruptible(kernel.hart.stop))
        try:
            return kernel.run()
        except Leave:
            return 0
        except KeyboardInterrupt:
            return 130
