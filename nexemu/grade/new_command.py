"""``nexemu new``: a folder for one student, with the exercise and a handler to begin with."""

from pathlib import Path
from shlex import quote
from typing import Annotated, Final

import typer

from nexemu.errors import OperatorError

STARTER: Final = Path(__file__).parent / "starter"
FILES: Final = ("handler.py", "README.md", "README.zh.md")

Folder = Annotated[Path, typer.Argument(help="The folder to make.")]

app = typer.Typer(add_completion=False)


@app.command()
def new(folder: Folder) -> None:
    """Make a folder for the memory lab: the exercise, and a handler that works in the naive way."""
    write_starter(folder)
    print(f"{folder}: the exercise is in README.md (README.zh.md: 中文)")
    print(f"Begin with: nexemu grade {quote(str(folder / 'handler.py'))}")


def write_starter(folder: Path) -> None:
    """Make ``folder``, which must not hold any of the files yet. Raises OperatorError."""
    for name in FILES:
        if (folder / name).exists():
            raise OperatorError(f"{folder / name} is there already; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).write_bytes((STARTER / name).read_bytes())
    except OSError as error:
        raise OperatorError(f"{folder}: {error.strerror}; name a folder that can be written") from error
