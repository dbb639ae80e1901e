"""``nexemu kv blocks``: samples of one prompt in blocks, by fork and copy-on-write."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from nexemu.errors import OperatorError
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.block_table import Copy
from nexemu.lab.plot import check_can_plot, draw
from nexemu.lab.report import Figure

MOST_TOKENS: Final = 1 << 20
MOST_SHOWN: Final = 10

Prompt = Annotated[int, typer.Option(min=1, help="Tokens of the prompt.")]
SampleCount = Annotated[int, typer.Option("--samples", min=1, help="How many go on from it.")]
Generate = Annotated[int, typer.Option(min=0, help="Tokens that each of them adds.")]
Block = Annotated[int, typer.Option(min=1, help="Tokens in a block.")]
PlotFile = Annotated[
    Path | None, typer.Option("--plot", help="Draw the blocks in use: a .png, .svg or .html file.")
]


@dataclass(frozen=True, slots=True)
class Growth:
    """Blocks in use after each generated token: with copy-on-write, and if each sample had its own."""

    shared: list[int]
    full: list[int]


class Samples:
    """One prompt, forked; ``copies`` are those that copy-on-write made."""

    def __init__(self, prompt: int, samples: int, generate: int, block: int) -> None:
        self.copies: list[Copy] = []
        self.sequences = range(samples)
        most = samples * -(-(prompt + generate) // block)
        self.manager = BlockManager(most, block, prefix_caching=False, on_copy=self.copies.append)
        self.manager.allocate(0, range(prompt))
        self.prompt_blocks = self.manager.pool.used_blocks
        for sample in self.sequences[1:]:
            self.manager.fork(0, sample)

    def grow(self, generate: int) -> Growth:
        """Each sample in turn adds a token, ``generate`` times."""
        growth = Growth([self.in_use], [self.in_full])
        for _ in range(generate):
            for sample in self.sequences:
                self.manager.append(sample, sample)
            growth.shared.append(self.in_use)
            growth.full.append(self.in_full)
        return growth

    @property
    def in_use(self) -> int:
        """Blocks that are in use."""
        return self.manager.pool.used_blocks

    @property
    def in_full(self) -> int:
        """Blocks that would be, if nothing were shared."""
        return sum(len(self.manager.table(sample)) for sample in self.sequences)


def blocks(
    prompt: Prompt = 7,
    samples: SampleCount = 2,
    generate: Generate = 1,
    block: Block = 4,
    plot_file: PlotFile = None,
) -> None:
    """Several samples of one prompt: what they share, what is copied, and what full copies would take."""
    if samples * (prompt + generate) > MOST_TOKENS:
        raise OperatorError(
            f"{samples} samples of {prompt + generate} tokens: more than {MOST_TOKENS} in all"
        )
    if plot_file is not None:
        check_can_plot(plot_file)
    made = Samples(prompt, samples, generate, block)
    growth = made.grow(generate)
    console = Console()
    console.print(_tables(made))
    console.print(_summary(made, growth))
    if plot_file is not None:
        lines = {"copy-on-write": growth.shared, "full copies": growth.full}
        figure = Figure("Blocks in use", "tokens generated", "blocks", range(generate + 1), lines)
        draw("nexemu kv blocks", [figure], plot_file)


def _tables(made: Samples) -> Table:
    """The block tables; a shared block has its count behind it."""
    table = Table("sample", "block table (x2: two samples share the block)")
    for sample in made.sequences[:MOST_SHOWN]:
        cells = [_entry(made, block) for block in made.manager.table(sample)]
        if len(cells) > MOST_SHOWN:
            cells[3:-4] = [f"... {len(cells) - 7} more ..."]
        table.add_row(str(sample + 1), "  ".join(cells))
    if len(made.sequences) > MOST_SHOWN:
        table.add_row("...", f"{len(made.sequences) - MOST_SHOWN} more")
    return table


def _entry(made: Samples, block: int) -> str:
    count = made.manager.pool.refcount(block)
    return str(block) if count == 1 else f"{block} x{count}"


def _summary(made: Samples, growth: Growth) -> Table:
    table = Table("blocks", "")
    copied = len(made.copies)
    table.add_row("of the prompt", f"{made.prompt_blocks:,}")
    table.add_row("copied when written", f"{copied:,}")
    table.add_row("new", f"{growth.shared[-1] - made.prompt_blocks - copied:,}")
    table.add_row("in use", f"{growth.shared[-1]:,}")
    table.add_row("full copies would take", f"{growth.full[-1]:,}")
    table.add_row("saved", f"{100 * (1 - growth.shared[-1] / growth.full[-1]):.1f} %")
    return table
