"""A machine to run smolprobe on, and the sizes of a small model to run."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nexemu import personality
from nexemu.kernel import Kernel, Options
from nexemu.model.geometry import Geometry
from nexemu.sched import POLICIES
from nexemu.trap.keys import NoKeys

GUESTS = personality.GUESTS / "nexos"
RAM = 64 << 20

TINY = Geometry(
    dim=64,
    hidden=96,
    layers=3,
    heads=8,
    kv_heads=4,
    vocab=320,
    seq_len=128,
    runtime_seq_len=64,
    rms_eps=1e-5,
    rope_theta=10_000.0,
)
"""A layer's K is 64 positions of 128 bytes: two pages."""

PROMPT, EXPECT = (1, 2, 3, 4, 5), (6, 7)
"""Its default request."""


class Ran(NamedTuple):
    """What came of one command: its exit status, its console, and the machine as it was left."""

    status: int
    output: str
    kernel: Kernel

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()

    @property
    def generated(self) -> list[int]:
        """The token ids in /AI.<pid>.OUT; the command is always the fifth process."""
        return [int(token) for token in self.file(b"/AI.5.OUT").split()]

    def file(self, path: bytes) -> bytes:
        return bytes(self.kernel._file(path))

    def numbers(self, line: str) -> dict[str, int]:
        """The name=number pairs of the line that begins with this word."""
        (text,) = [found for found in self.lines if found.startswith(f"[smolprobe] {line} ")]
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", text)}


def run_guest(argv: Sequence[bytes], *folders: Path, lazy: bool = True, memory: int = RAM) -> Ran:
    """Boot a machine whose files are the package's guests and ``folders``, and run one program."""
    output = bytearray()
    options = Options(lazy=lazy, cow=lazy, memory=memory)
    kernel = Kernel(options, POLICIES["round-robin"](), NoKeys(), output.extend, lambda _: None)
    for folder in (GUESTS, *folders):
        kernel.load_files(folder)
    kernel.boot([b"init", b"--", *argv], (GUESTS / "init").read_bytes())
    status = kernel.run()
    return Ran(status, output.decode(errors="replace"), kernel)


def smolprobe(*options: str, image: Path, lazy: bool = True, memory: int = RAM) -> Ran:
    """Run ``smolprobe`` with ``options`` where the files of ``image`` are."""
    return run_guest([b"smolprobe", *map(str.encode, options)], image, lazy=lazy, memory=memory)
