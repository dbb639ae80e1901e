"""``nexemu bench``: measure, show a table, write JSON.

It reports and does not judge: the exit status is 0 whether or not the targets are met.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from nexemu.bench import boot, cpu, kv, paging, policies, process, smolprobe
from nexemu.bench.host import this_host
from nexemu.bench.measure import FULL, QUICK, Result, measure
from nexemu.bench.probe import MakeProbe, NotHere, Setting
from nexemu.bench.report import as_json, table
from nexemu.errors import OperatorError

PROBES: Final[Mapping[str, MakeProbe]] = {
    "boot": boot.boot,
    "boot-inside": boot.boot_inside,
    "alu": cpu.alu,
    "load": cpu.load,
    "syscall": cpu.syscall,
    "refill": paging.refill,
    "lazy": paging.lazy,
    "cow-copy": paging.cow_copy,
    "cow-reuse": paging.cow_reuse,
    "fork": process.fork,
    "fork-copy": process.fork_copy,
    "exec": process.exec_,
    "kv-append": kv.append,
    "kv-radix": kv.radix,
    **{name: policies.replacement(name) for name in policies.AT_MOST},
    "mlfq": policies.scheduling,
    "smolprobe": smolprobe.smolprobe,
    "token": smolprobe.token,
    "token-process": smolprobe.token_process,
}
"""All probes in the order of the table, by the names that ``--only`` takes."""

MEANING: Final = "Medians, and half the width of the middle half; a ratio is that of two neighbours."

JsonFile = Annotated[Path, typer.Option("--json", help="Where all of it goes, every sample included.")]
Quick = Annotated[bool, typer.Option("--quick", help="One small round each: shows that it works.")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help=f"Measure this alone; may be repeated. Names: {', '.join(PROBES)}."),
]

Peers = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where checkouts of nano-vllm and mini-sglang are, to stand beside the KV library.",
    ),
]

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    json_file: JsonFile = Path("bench.json"), quick: Quick = False, only: Only = None, peers: Peers = None
) -> None:
    """Measure what the machine costs, against the least that it could cost on this computer."""
    names = _chosen(only or [])
    _check_writable(json_file)
    host = this_host()
    results, remarks = _measure_all(names, quick, peers)
    console = Console()
    if results:
        console.print(table(results))
    for line in (MEANING, host.line(), *remarks):
        console.print(line, markup=False, highlight=False)
    text = json.dumps(as_json(host, results, remarks, quick), indent=1)
    json_file.write_text(text + "\n", encoding="utf-8")


def _chosen(only: Sequence[str]) -> list[str]:
    for name in only:
        if name not in PROBES:
            raise OperatorError(f"--only {name}: there are {', '.join(PROBES)}")
    return [name for name in PROBES if not only or name in only]


def _check_writable(json_file: Path) -> None:
    """Find out before minutes are spent that there is nowhere to write to."""
    try:
        json_file.open("a", encoding="utf-8").close()
    except OSError as error:
        raise OperatorError(f"--json {json_file}: cannot be written: {error.strerror}") from error


def _measure_all(names: Sequence[str], quick: bool, peers: Path | None) -> tuple[list[Result], list[str]]:
    """The results, and what there is to say besides. The bar is redrawn between rounds only: a thread that
    draws it would take part in what is measured."""
    results: list[Result] = []
    remarks: list[str] = []
    columns = (TextColumn("{task.description:<14}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as progress:
        task = progress.add_task("", total=len(names))
        for number, name in enumerate(names):
            advance = partial(_advance, progress, task, name, number)
            advance(0.0)
            try:
                results.append(_measure(name, quick, peers, advance, remarks))
            except NotHere as missing:
                remarks.append(f"{name}: not measured: {missing}")
        _advance(progress, task, "done", len(names), 0.0)
    return results, remarks


def _measure(
    name: str, quick: bool, peers: Path | None, tick: Callable[[float], None], remarks: list[str]
) -> Result:
    with ExitStack() as stack:
        probe = PROBES[name](Setting(quick, stack, peers))
        remarks += probe.remarks
        return measure(name, probe, QUICK if quick else FULL, tick)


def _advance(progress: Progress, task: TaskID, name: str, number: int, done: float) -> None:
    progress.update(task, description=name, completed=number + done, refresh=True)
