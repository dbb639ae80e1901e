"""docs/LAB.md: each demo and exercise of the lecture, its value, ours, and why they differ.

The page is what the experiments say when they run with the seeds of the catalogue; what is measured
on a computer is left out of it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from nexemu.lab.catalogue import EXPERIMENTS
from nexemu.lab.experiment import Experiment, Steps, Trial
from nexemu.lab.quiz.instances import INSTANCES
from nexemu.lab.report import Check, like, said

INTRODUCTION: Final = """\
# The lab

Written by `nexemu lab --page` out of the experiments; edit those instead.

Each demo and each exercise of the lecture *OS Basics for Inference Systems*, sections 1 to 5 (processes,
scheduling, virtual memory, caching, prefix trees), and each number of the course notes on lazy allocation
and copy-on-write in LLM serving can be rerun: `nexemu lab NAME`, with `--seed N` for other random
numbers, `--plot FILE.png`, `.svg` or `.html` for its figures, `--json` for a program. `nexemu lab quiz
NAME` poses the exercises, in Chinese with `--lang zh`; `--answer` shows the answer, and `--seed N` changes
the numbers. Figures need `.venv/bin/pip install 'nexemu[plot]'`.

`nexemu lab pages TRACE` shows a run of your own, from the trace that `nexemu run --trace TRACE --
PROGRAM` writes: a row for each process that page-faulted, and with `--plot` a page map of the one with
the most, of `--pid N`, or of all processes of `--name PROGRAM`. Each page fault is a point, to the
right in the order of the trace, upwards by the address of the page. Pages that nobody touched are left
out, so that what lies far apart stands side by side. If system calls took most of the faults, by
reading files into memory, a second map leaves those out; `--last N` looks closely at the last ones. The
figure below has the pages of the heap that sbrk reserved and those that are mapped: what lies between
the lines was promised, and cost nothing. Processes that share pages after a fork count them each for
itself; the frames that were taken in all show what sharing saved. No event says that a page was swapped
out, so it counts as mapped.

The lecture's simulations gave no seeds and few parameters. Where a value depends on them, the last column
says so; what can be computed agrees, but for one number of demo 4 of code 03.
"""

MEASURED: Final = "measured"


def page(steps: Steps) -> str:
    """The whole page, in Markdown. It runs every experiment."""
    sections = [
        section(name, EXPERIMENTS[name]) for name in steps("running all experiments", list(EXPERIMENTS))
    ]
    return "\n".join([INTRODUCTION, *sections])


def section(name: str, experiment: Experiment) -> str:
    """One experiment: where it is from, what to see, and its values."""
    report = experiment.run(Trial(experiment.seed))
    quiz = f"; `nexemu lab quiz {name}`" if name in INSTANCES else ""
    head = f"## {experiment.title}\n\n`nexemu lab {name}`: {experiment.place}{quiz}.\n\n{report.see}\n\n"
    return head + _table(("what", "the lecture", "here", "why they differ"), map(_row, report.checks))


def _row(check: Check) -> tuple[str, str, str, str]:
    there = said(check.lecture)
    if check.measured:
        return check.what, there, MEASURED, check.why
    here = like(check.ours, check.lecture)
    return check.what, there, here, check.why if here != there else ""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def lines() -> Iterator[Iterable[str]]:
        yield head
        yield ["---"] * 4
        yield from rows

    return "".join(f"| {' | '.join(line)} |\n" for line in lines())
