"""``nexemu run``: boot a machine, with a shell or with one program."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from nexemu.errors import OperatorError
from nexemu.events import Emit
from nexemu.evict import POLICIES as EVICTORS
from nexemu.grade.student.local import handler_at
from nexemu.kernel import Options
from nexemu.observe.counters import Counters
from nexemu.observe.recorder import fan_out
from nexemu.observe.trace import TraceWriter
from nexemu.param import QUANTUM
from nexemu.personality import NEXOS, PERSONALITIES
from nexemu.run_setup import (
    evictor_called,
    guests_of,
    images_for,
    init_arguments,
    memory_for,
    parse_size,
    personality_called,
    scheduler_called,
)
from nexemu.sched import POLICIES as SCHEDULERS
from nexemu.session import run_machine

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
Sched = Annotated[str, typer.Option(help=f"Who runs next: {', '.join(SCHEDULERS)}.")]
Quantum = Annotated[int, typer.Option(min=1, help="A turn, in instructions, for the policies that have one.")]
Frames = Annotated[int | None, typer.Option(min=64, help="RAM in frames of 4 KiB, instead of --mem.")]
Swap = Annotated[str | None, typer.Option(help="Where pages go when frames run out, e.g. 64M.")]
Evict = Annotated[str, typer.Option(help=f"Which page goes there: {', '.join(EVICTORS)}.")]
HandlerFile = Annotated[
    Path | None, typer.Option("--handler", help="A handler.py that decides about memory; see `nexemu new`.")
]
Audit = Annotated[bool, typer.Option("--audit", help="After every trap, check all counts. Slow.")]
Stats = Annotated[bool, typer.Option("--stats", help="At the end, print what the machine counted.")]
Trace = Annotated[Path | None, typer.Option(help="Write every event to this file, one JSON line each.")]

app = typer.Typer(add_completion=False)


@app.command()
def run(
    program: Program = None,
    shell_command: ShellCommand = None,
    lazy: Lazy = True,
    cow: Cow = True,
    abi: Abi = NEXOS.name,
    one_argument_sbrk: OneArgumentSbrk = False,
    mem: Mem = None,
    frames: Frames = None,
    swap: Swap = None,
    evict: Evict = "clock",
    image: Image = None,
    sched: Sched = "round-robin",
    quantum: Quantum = QUANTUM,
    handler: HandlerFile = None,
    audit: Audit = False,
    stats: Stats = False,
    trace: Trace = None,
) -> None:
    """Boot a machine. Ctrl-A X leaves, Ctrl-C ends the foreground program, Ctrl-P lists processes."""
    if program and shell_command is not None:
        raise OperatorError("give either a program or --shell-command, not both")
    personality = personality_called(abi, one_argument_sbrk)
    argv = init_arguments(program or [], shell_command, personality.limits.argument_bytes - 1)
    folders = [guests_of(personality), *images_for(image, personality)]
    memory = memory_for(mem, frames, folders)
    options = Options(
        lazy=lazy,
        cow=cow,
        memory=memory,
        personality=personality,
        audit=audit,
        swap=0 if swap is None else parse_size("--swap", swap),
        evictor=evictor_called(evict, memory),
    )
    scheduler = scheduler_called(sched, quantum)
    with _listeners(stats, trace) as emit:
        if handler is not None:
            options = _with_handler(options, handler, emit)
        status = run_machine(options, scheduler, folders, argv, emit)
    raise typer.Exit(status & 0xFF)


def _with_handler(options: Options, path: Path, emit: Emit | None) -> Options:
    """The machine of ``options``, with the handler at ``path`` in place of the kernel's own."""
    if options.swap:
        raise OperatorError("--handler and --swap do not go together: the exercise has no swapping")
    return replace(options, handler=handler_at(path, emit))


@contextmanager
def _listeners(stats: bool, trace: Path | None) -> Iterator[Emit | None]:
    """Whoever wants to know what happens; afterwards the trace is closed and the statistics are printed."""
    counters = Counters()
    with ExitStack() as stack:
        listeners: list[Emit] = [counters] if stats else []
        if trace is not None:
            listeners.append(stack.enter_context(TraceWriter(trace)))
        yield fan_out(listeners)
    if stats:
        import_module("nexemu.observe.report").print_to_stderr(counters)  # rich is slow to load
