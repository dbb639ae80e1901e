"""``nexemu lab``: list the experiments, run one, or pose an exercise."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from nexemu.errors import OperatorError
from nexemu.evict.references import read_references
from nexemu.lab.catalogue import EXPERIMENTS
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.page import page
from nexemu.lab.paging.lives import changes
from nexemu.lab.paging.page_map import Choice, page_map
from nexemu.lab.paging.recorded import replay_all, sizes_for
from nexemu.lab.paging.trace_file import read_trace
from nexemu.lab.plot import check_can_plot, plot
from nexemu.lab.progress import with_a_bar
from nexemu.lab.quiz.exercises import LANGUAGES, exercises
from nexemu.lab.show import as_json, show, show_report

Seed = Annotated[int | None, typer.Option(min=0, help="Other random numbers than those of docs/LAB.md.")]
PlotFile = Annotated[
    Path | None, typer.Option("--plot", help="Draw the figures: a .png, .svg or .html file.")
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
QuizName = Annotated[str | None, typer.Argument(metavar="NAME", help="An exercise; without one, the list.")]
QuizSeed = Annotated[int | None, typer.Option("--seed", min=0, help="Other numbers than the lecture's.")]
Answer = Annotated[bool, typer.Option("--answer", help="Show the answer as well.")]
Language = Annotated[str, typer.Option("--lang", help="en or zh.")]
ReferenceFile = Annotated[Path, typer.Argument(metavar="FILE", help="What `nexemu run --record` wrote.")]
Frames = Annotated[str | None, typer.Option(help="Numbers of frames, such as 8,16,32.")]
TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="What `nexemu run --trace` wrote.")]
Pid = Annotated[int | None, typer.Option(help="Draw this process, not the one that page-faulted most.")]
Name = Annotated[str | None, typer.Option(help="Draw all processes of this program.")]
Last = Annotated[int | None, typer.Option(min=1, help="Draw only so many page faults, the last ones.")]
Page = Annotated[bool, typer.Option("--page", help="Print docs/LAB.md: run everything.", hidden=True)]


class LabGroup(TyperGroup):
    """The experiments as commands; a wrong name is one line."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As usual, but for the error."""
        if args and self.get_command(ctx, args[0]) is None:
            raise OperatorError(_unknown("lab", args[0], [*EXPERIMENTS, "pages", "quiz", "replay"]))
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=LabGroup, add_completion=False, help="The course's experiments: run them again.")


@app.callback(invoke_without_command=True)
def lab(ctx: typer.Context, whole_page: Page = False) -> None:
    """The course's experiments: run them again, beside what the lecture found."""
    if whole_page:
        print(page(with_a_bar), end="")
    elif ctx.invoked_subcommand is None:
        rows = [(name, experiment.title, experiment.place) for name, experiment in EXPERIMENTS.items()]
        _print_list(("nexemu lab ...", "what", "in the lecture"), rows)


def _command(name: str, experiment: Experiment) -> Callable[..., None]:
    """What ``nexemu lab NAME`` calls."""

    def run(seed: Seed = None, plot_file: PlotFile = None, json: Json = False) -> None:
        if plot_file is not None:
            check_can_plot(plot_file)
        chosen = experiment.seed if seed is None else seed
        report = experiment.run(Trial(chosen, with_a_bar))
        if json:
            print(as_json(name, chosen, experiment, report))
        else:
            show(experiment, report, Console())
        if plot_file is not None:
            plot(name, report, plot_file)

    return run


@app.command()
def quiz(name: QuizName = None, seed: QuizSeed = None, answer: Answer = False, lang: Language = "en") -> None:
    """Pose an exercise of the lecture; --answer shows the answer."""
    if lang not in LANGUAGES:
        raise OperatorError(f"--lang {lang}: there are {' and '.join(LANGUAGES)}")
    known = exercises()
    if name is None:
        rows = [(each.name, each.title[lang], each.place) for each in known.values()]
        _print_list(("nexemu lab quiz ...", "what", "in the lecture"), rows)
        return
    if name not in known:
        raise OperatorError(_unknown("lab quiz", name, list(known)))
    question, solution = known[name].pose(lang, None if seed is None else Random(seed))
    print(f"{question}\n\n{solution}" if answer else question)


@app.command()
def replay(file: ReferenceFile, frames: Frames = None, seed: Seed = None, plot_file: PlotFile = None) -> None:
    """Replay the pages that `nexemu run --record FILE` wrote, under every policy."""
    if plot_file is not None:
        check_can_plot(plot_file)
    references = read_references(file)
    sizes = sizes_for(references) if frames is None else _numbers("--frames", frames)
    report = replay_all(references, sizes, seed or 0, with_a_bar)
    show_report(f"The pages of {file}", report, Console())
    if plot_file is not None:
        plot("replay", report, plot_file)


@app.command()
def pages(
    trace: TraceFile, pid: Pid = None, name: Name = None, last: Last = None, plot_file: PlotFile = None
) -> None:
    """Show which pages a program touched when, out of what `nexemu run --trace FILE` wrote."""
    if plot_file is not None:
        check_can_plot(plot_file)
    report = page_map(list(changes(read_trace(trace, with_a_bar))), Choice(pid, name, last))
    show_report(f"The page faults of {trace}", report, Console())
    if plot_file is not None:
        plot("pages", report, plot_file)


def _numbers(option: str, text: str) -> list[int]:
    """``8,16,32``, given to ``option``. Raises OperatorError."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise OperatorError(f"{option} {text}: give numbers of frames, such as 8,16,32")
    return sorted({int(word) for word in words})


def _unknown(command: str, name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"`nexemu {command}` lists them"
    return f"{command} {name}: there is no {name}; {hint}"


def _print_list(columns: tuple[str, str, str], rows: Sequence[tuple[str, str, str]]) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


for _name, _experiment in EXPERIMENTS.items():
    app.command(_name, help=f"{_experiment.title} ({_experiment.place}).")(_command(_name, _experiment))
