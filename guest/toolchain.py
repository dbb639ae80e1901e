"""The compiler for guest programs: zig from PyPI, or the gcc that the environment names.

Role: say how to call the compiler, with the flags that only it understands. Owns nothing.
Invariant: two toolchains whose results may differ are unequal.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

ZIG = (
    *("-target", "riscv64-freestanding-none", "-mcpu=generic_rv64+m+a+f+d+c", "-fno-sanitize=undefined"),
    "-Werror",  # its version is known, so its warnings are; another compiler may have more
)
GCC = ("-march=rv64gc", "-mabi=lp64d", "-fno-tree-loop-distribute-patterns")


class BuildError(Exception):
    """What the person at the keyboard can do something about; the text is the whole message."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How to call the compiler, and what tells one compiler from another."""

    command: tuple[str, ...]
    identity: str


def find_toolchain() -> Toolchain:
    """The gcc that ``CROSS`` names, or zig; :class:`BuildError` when there is none."""
    prefix = os.environ.get("CROSS", "")
    if prefix:
        gcc = shutil.which(f"{prefix}gcc")
        if gcc is None:
            raise BuildError(f"CROSS={prefix}: no {prefix}gcc on the PATH (without CROSS, zig is used)")
        version = subprocess.run([gcc, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
        return Toolchain((gcc, *GCC), f"{gcc} {version.strip()}")
    if importlib.util.find_spec("ziglang") is None:
        raise BuildError(
            f"no guest compiler: `{sys.executable} -m pip install ziglang`, "
            "or set CROSS to a gcc's prefix (CROSS=riscv64-unknown-elf-)"
        )
    version = importlib.metadata.version("ziglang")
    return Toolchain((sys.executable, "-m", "ziglang", "cc", *ZIG), f"zig {version}")
