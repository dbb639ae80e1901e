"""What a token of smolprobe is compared with and must be compiled: possible in a checkout, which has
the source, with a compiler."""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from nexemu.bench.child import HOME
from nexemu.bench.probe import NotHere

QEMU: Final = "qemu-riscv64"
GUEST: Final = HOME / "guest"
COMPILE: Final = GUEST / "bench" / "compile.py"


def packed_loop(stack: ExitStack) -> Path:
    """A guest program that does a token's multiply-adds again and again, until ``stack`` is unwound.
    Raises NotHere."""
    return _compile(stack) / "packed_loop"


def smolprobe_for_linux(stack: ExitStack, image: Path) -> Path:
    """A folder that holds ``smolprobe-linux`` and the files of ``image``, until ``stack`` is unwound.
    Raises NotHere."""
    if shutil.which(QEMU) is None:
        raise NotHere(f"{QEMU} is not installed")
    folder = _compile(stack)
    for file in image.iterdir():
        (folder / file.name).symlink_to(file)
    return folder


def _compile(stack: ExitStack) -> Path:
    if not COMPILE.exists():
        raise NotHere("an installed package has no C source to compile")
    folder = Path(stack.enter_context(TemporaryDirectory()))
    done = subprocess.run(
        [sys.executable, COMPILE, folder],
        env={**os.environ, "PYTHONPATH": str(GUEST)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NotHere(done.stderr.strip())
    return folder
