"""The door: ``nexemu COMMAND``.

Each command lives in its own module, which is imported when it is called for: booting a machine
does not load the model's converter.
"""

import errno
import io
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup

from nexemu import __version__
from nexemu.errors import KernelPanic, OperatorError

COMMANDS: Final[Mapping[str, str]] = {
    "run": "nexemu.run_command",
    "model": "nexemu.model.command",
    "bench": "nexemu.bench.command",
    "abi": "nexemu.abi_command",
    "new": "nexemu.grade.new_command",
    "grade": "nexemu.grade.grade_command",
    "grade-all": "nexemu.grade.class_command",
    "lab": "nexemu.lab.command",
    "kv": "nexemu.kv_command",
}
"""Where the typer app of each command is, in the order of ``--help``."""

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What goes wrong with a standard output that was good until then."""

UsageError: Final[Any] = typer.BadParameter.__mro__[1]
"""A command line that cannot be parsed. Typer exports only this kind of it."""


class LazyGroup(TyperGroup):
    """A group of commands whose modules are imported when they are needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command called ``cmd_name``, or None."""
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(import_module(COMMANDS[cmd_name]).app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    help="A RISC-V lab machine for learning how a kernel manages memory.",
)


@app.callback(invoke_without_command=True)
def nexemu(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    """A RISC-V lab machine for learning how a kernel manages memory."""
    if version:
        print(f"nexemu {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; the operator's mistakes end with one line and status 2."""
    open_standard_descriptors()
    write_what_can_be_written()
    try:
        status = app(standalone_mode=False)
        print(end="", flush=True)  # what cannot be written is to be heard of here
        sys.exit(status)
    except UsageError as error:
        if message := error.format_message():  # empty: the help was printed in its place
            print(f"nexemu: {message} (--help lists the options)", file=sys.stderr)
        sys.exit(2)
    except OperatorError as error:
        print(f"nexemu: {error}", file=sys.stderr)
        sys.exit(2)
    except KernelPanic as error:
        print(f"nexemu: panic: {error}", file=sys.stderr)
        sys.exit(70)
    except OSError as error:
        if error.errno not in FULL:
            raise
        print(f"nexemu: standard output: {error.strerror}", file=sys.stderr)
        os._exit(2)  # an orderly end would write what is left once more


def open_standard_descriptors() -> None:
    """Where one of 0, 1 and 2 is closed, let it be /dev/null: the next file to be opened would get its
    number, and what is meant for the screen would go there."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def write_what_can_be_written() -> None:
    """Where a terminal's character set lacks a letter, show its number: no message is lost for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
