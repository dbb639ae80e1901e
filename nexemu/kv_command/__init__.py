"""``nexemu kv``: try block tables, prefix trees and serving engines on the command line."""

import typer

from nexemu.kv_command.blocks import blocks
from nexemu.kv_command.radix import radix
from nexemu.kv_command.serve import compare, serve

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="The KV cache as virtual memory: block tables, prefix trees, serving engines.",
)
app.command()(blocks)
app.command()(radix)
app.command()(serve)
app.command()(compare)
