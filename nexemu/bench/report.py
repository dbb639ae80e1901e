"""Results as a table for people and as JSON for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rich import box
from rich.table import Table

from nexemu.bench.host import Host
from nexemu.bench.measure import Comparison, Result
from nexemu.bench.stats import Spread

UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
VERDICTS: Final = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}


def table(results: Sequence[Result]) -> Table:
    """A line for each thing; indented below it, one for each floor. Narrow enough for 80 columns."""
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)
    shown.add_column("what; over which floor", no_wrap=True)
    for heading in ("time", "", "ratio", "", "target"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for result in results:
        limit = "" if result.at_most is None else f"<= {duration(result.at_most)}"
        shown.add_row(result.title, *_time(result.time), "", "", limit, VERDICTS[result.met])
        for floor in result.comparisons:
            limit = "" if floor.at_most is None else f"<= {floor.at_most:g}x"
            cells = (*_time(floor.time), f"{floor.ratio.median:.2f}", _plus_minus(floor.ratio))
            shown.add_row(f"  {floor.title}", *cells, limit, VERDICTS[floor.met])
    return shown


def duration(seconds: float) -> str:
    """Three digits and a unit: ``3.91 us``."""
    unit, size = next((pair for pair in UNITS if seconds >= pair[1]), UNITS[-1])
    value = seconds / size
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def _time(time: Spread) -> tuple[str, str]:
    return duration(time.median), _plus_minus(time)


def _plus_minus(spread: Spread) -> str:
    return f"±{spread.relative:.0%}"


def as_json(host: Host, results: Sequence[Result], remarks: Sequence[str], quick: bool) -> dict[str, Any]:
    """Everything: times in seconds, every sample."""
    return {
        "host": asdict(host),
        "quick": quick,
        "results": [_result(result) for result in results],
        "remarks": list(remarks),
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "title": result.title,
        "rounds": len(result.samples),
        "time": asdict(result.time),
        "at_most_seconds": result.at_most,
        "met": result.met,
        "samples": list(result.samples),
        "floors": [_comparison(floor) for floor in result.comparisons],
    }


def _comparison(floor: Comparison) -> dict[str, Any]:
    return {
        "title": floor.title,
        "time": asdict(floor.time),
        "ratio": asdict(floor.ratio),
        "at_most_ratio": floor.at_most,
        "met": floor.met,
        "samples": list(floor.samples),
    }
