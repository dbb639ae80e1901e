"""``nexemu run``: boot a machine, with a shell or with one program."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from nexemu.errors import OperatorError
from nexemu.events import Emit
from nexemu.evict.references import Write, references_to
from nexemu.kernel import Options
from nexemu.observe.counters import Counters
from nexemu.observe.recorder import fan_out
from nexemu.observe.trace import TraceWriter
from nexemu.param import QUANTUM
from nexemu.personality import NEXOS, PERSONALITIES, guests_of
from nexemu.run_setup import (
    LIVE_EVICTORS,
    LIVE_SCHEDULERS,
    check_shell,
    evictor_called,
    images_for,
    init_arguments,
    memory_for,
    personality_called,
    scheduler_called,
    swap_size,
)
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
Sched = Annotated[
    str | None, typer.Option(help=f"Who runs next: {', '.join(LIVE_SCHEDULERS)}; round-robin without it.")
]
Quantum = Annotated[
    int | None,
    typer.Option(
        min=1, help=f"A turn, in instructions, for the policies that have one; {QUANTUM:,} without it."
    ),
]
Frames = Annotated[int | None, typer.Option(min=64, help="RAM in frames of 4 KiB, instead of --mem.")]
Swap = Annotated[str | None, typer.Option(help="Where pages go when frames run out, e.g. 64M.")]
Evict = Annotated[
    str | None,
    typer.Option(help=f"With --swap, which page goes there: {', '.join(LIVE_EVICTORS)}; clock without it."),
]
HandlerFile = Annotated[
    Path | None, typer.Option("--handler", help="A handler.py that decides about memory; see `nexemu new`.")
]
Audit = Annotated[bool, typer.Option("--audit", help="After every trap, check all counts. Slow.")]
Stats = Annotated[bool, typer.Option("--stats", help="At the end, print what the machine counted.")]
Record = Annotated[
    Path | None,
    typer.Option(help="Write the pages that are used to this file, for `nexemu lab replay`. Slow."),
]
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
    evict: Evict = None,
    image: Image = None,
    sched: Sched = None,
    quantum: Quantum = None,
    handler: HandlerFile = None,
    audit: Audit = False,
    stats: Stats = False,
    trace: Trace = None,
    record: Record = None,
) -> None:
    """Boot a machine. Ctrl-A X leaves, Ctrl-C ends the foreground program, Ctrl-P lists processes."""
    personality = personality_called(abi, one_argument_sbrk)
    argv = init_arguments(program or [], shell_command, personality.limits.argument_bytes - 1)
    check_shell(shell_command, image)
    folders = [guests_of(personality), *images_for(image, personality)]
    memory = memory_for(mem, frames, folders)
    swap_bytes = swap_size(swap)
    options = Options(
        lazy=lazy,
        cow=cow,
        memory=memory,
        personality=personality,
        audit=audit,
        swap=swap_bytes,
        evictor=evictor_called(evict, swap_bytes, memory),
        exact_time=sched is not None or quantum is not None,
    )
    scheduler = scheduler_called(sched or "round-robin", quantum or QUANTUM)
    with _listeners(stats, trace, record, options.exact_time) as ears:
        status = run_machine(_heard(options, handler, ears), scheduler, folders, argv, ears.emit)
    raise typer.Exit(status & 0xFF)


class Ears(NamedTuple):
    """Who wants to know: of events, and of each page that is used."""

    emit: Emit | None
    record: Write | None


def _heard(options: Options, handler: Path | None, ears: Ears) -> Options:
    """The machine of ``options`` with ``ears``, and with the handler at ``handler`` instead of its own."""
    options = replace(options, record=ears.record)
    if handler is None:
        return options
    if options.swap:
        raise OperatorError("--handler and --swap do not go together: the exercise has no swapping")
    local = import_module("nexemu.grade.student.local")  # here, since few runs need it
    return replace(options, handler=local.handler_at(handler, ears.emit))


@contextmanager
def _listeners(stats: bool, trace: Path | None, record: Path | None, exact_time: bool) -> Iterator[Ears]:
    """Whoever wants to know what happens; afterwards files are closed and the statistics are printed."""
    counters = Counters()
    with ExitStack() as stack:
        listeners: list[Emit] = [counters] if stats else []
        if trace is not None:
            listeners.append(stack.enter_context(TraceWriter(trace)))
        write = None if record is None else stack.enter_context(references_to(record))
        yield Ears(fan_out(listeners), write)
    if stats:
        import_module("nexemu.observe.report").print_to_stderr(counters, exact_time)  # rich is slow to load
