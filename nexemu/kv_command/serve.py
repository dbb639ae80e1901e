"""``nexemu kv serve`` and ``nexemu kv compare``: a serving engine over a request trace."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from nexemu.errors import OperatorError
from nexemu.kv_command.show import comparison, one_run, over_load, over_time, print_whole
from nexemu.lab.plot import check_can_plot, draw
from nexemu.serve.engine import Batch
from nexemu.serve.metrics import summarize
from nexemu.serve.request import Request
from nexemu.serve.schedulers import SCHEDULERS
from nexemu.serve.setup import EVICTORS, MEMORIES, Setting
from nexemu.serve.setup import serve as serve_requests
from nexemu.serve.trace import read_trace
from nexemu.serve.workload import WORKLOADS

EVERY_MEMORY: Final = ",".join(MEMORIES)

Trace = Annotated[Path | None, typer.Argument(help="Requests, a JSON line each; without one, --workload.")]
Workload = Annotated[str, typer.Option(help=f"Made-up requests: {', '.join(WORKLOADS)}.")]
Count = Annotated[int, typer.Option(min=1, max=100_000, help="How many programs make requests.")]
Rate = Annotated[float, typer.Option(min=0.001, max=1e6, help="How many begin a second.")]
Seed = Annotated[int, typer.Option(min=0, help="Other requests.")]
MemoryName = Annotated[str, typer.Option("--memory", help=f"One of {', '.join(MEMORIES)}.")]
SchedulerName = Annotated[str, typer.Option("--scheduler", help=f"One of {', '.join(SCHEDULERS)}.")]
MemoryNames = Annotated[str, typer.Option("--memory", help=f"Of {', '.join(MEMORIES)}; commas between.")]
SchedulerNames = Annotated[
    str, typer.Option("--scheduler", help=f"Of {', '.join(SCHEDULERS)}; commas between.")
]
EvictorName = Annotated[str, typer.Option("--evict", help=f"Who leaves a radix tree: {', '.join(EVICTORS)}.")]
Slots = Annotated[int, typer.Option(min=16, max=1 << 24, help="Tokens that the device can hold.")]
Block = Annotated[int, typer.Option(min=1, max=4096, help="Tokens in a block.")]
Longest = Annotated[int, typer.Option(min=1, help="Tokens that a request may become.")]
BatchSize = Annotated[int, typer.Option("--batch", min=1, help="Requests that run at once, at most.")]
PlotFile = Annotated[Path | None, typer.Option("--plot", help="Draw a .png, .svg or .html file.")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


def serve(
    trace: Trace = None,
    workload: Workload = "chat",
    count: Count = 100,
    rate: Rate = 2.0,
    seed: Seed = 1,
    memory: MemoryName = "radix",
    scheduler: SchedulerName = "fcfs",
    evict: EvictorName = "lru",
    slots: Slots = 16_384,
    block: Block = 16,
    longest: Longest = 4_096,
    batch: BatchSize = 256,
    plot_file: PlotFile = None,
    as_json: Json = False,
) -> None:
    """Serve requests in virtual time; throughput, latency, and where the memory was."""
    _one_of("--memory", memory, MEMORIES)
    _one_of("--scheduler", scheduler, SCHEDULERS)
    setting = _setting(evict, slots, block, longest, batch)
    if plot_file is not None:
        check_can_plot(plot_file)
    requests = _requests(trace, workload, count, rate, seed)
    outcome = serve_requests(requests, memory, scheduler, setting)
    summary = summarize(outcome)
    if as_json:
        print(json.dumps({"memory": memory, "scheduler": scheduler, **asdict(summary)}, indent=2))
    else:
        console = Console()
        console.print(one_run(summary, f"{memory}, {scheduler}: {len(requests):,} requests"))
        for record in [record for record in outcome.records if record.refused][:1]:
            console.print(f"The first that was refused: {record.refused}.", markup=False, highlight=False)
    if plot_file is not None:
        draw(f"nexemu kv serve --memory {memory}", over_time(outcome), plot_file)


def compare(
    trace: Trace = None,
    workload: Workload = "chat",
    count: Count = 100,
    rate: Rate = 2.0,
    seed: Seed = 1,
    memory: MemoryNames = EVERY_MEMORY,
    scheduler: SchedulerNames = "fcfs",
    evict: EvictorName = "lru",
    slots: Slots = 16_384,
    block: Block = 16,
    longest: Longest = 4_096,
    batch: BatchSize = 256,
    plot_file: PlotFile = None,
    as_json: Json = False,
) -> None:
    """Serve the same requests on several memories, under several schedulers."""
    memories = _several("--memory", memory, MEMORIES)
    schedulers = _several("--scheduler", scheduler, SCHEDULERS)
    setting = _setting(evict, slots, block, longest, batch)
    if plot_file is not None:
        check_can_plot(plot_file)
    requests = _requests(trace, workload, count, rate, seed)
    pairs = [(one, other) for one in memories for other in schedulers]
    found = {pair: summarize(serve_requests(requests, *pair, setting)) for pair in pairs}
    if as_json:
        rows = [{"memory": pair[0], "scheduler": pair[1], **asdict(each)} for pair, each in found.items()]
        print(json.dumps(rows, indent=2))
    else:
        print_whole(comparison(found))
    if plot_file is not None:
        draw("nexemu kv compare", over_load(requests, pairs, setting), plot_file)


# ---- what was asked for ---------------------------------------------------------------------------


def _one_of(option: str, name: str, table: Mapping[str, Any]) -> None:
    if name not in table:
        raise OperatorError(f"{option} {name}: there are {', '.join(table)}")


def _several(option: str, names: str, table: Mapping[str, Any]) -> list[str]:
    found = [name.strip() for name in names.split(",")]
    for name in found:
        _one_of(option, name, table)
    return list(dict.fromkeys(found))


def _setting(evict: str, slots: int, block: int, longest: int, batch: int) -> Setting:
    _one_of("--evict", evict, EVICTORS)
    if block > slots:
        raise OperatorError(f"--block {block}: not one block fits into --slots {slots}")
    return Setting(slots=slots, block=block, longest=longest, evictor=evict, batch=Batch(batch))


def _requests(trace: Path | None, workload: str, count: int, rate: float, seed: int) -> list[Request]:
    if trace is not None:
        return read_trace(trace)
    _one_of("--workload", workload, WORKLOADS)
    if math.isnan(rate):
        raise OperatorError("--rate nan: how many begin a second must be a number")
    return WORKLOADS[workload](seed, count, rate)
