"""Probes of smolprobe: the whole program, and one token of its decode.

A token is the time between two lines that smolprobe writes, before its decode and after it, divided
by the tokens decoded; a prompt of one token makes every step one that ends in logits.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from nexemu.bench.boot import HOME, NEXEMU, process_seconds
from nexemu.bench.compiled import QEMU, packed_loop, smolprobe_for_linux
from nexemu.bench.packed import PackedLoop
from nexemu.bench.probe import Floor, NotHere, Probe, Sample, Setting
from nexemu.bench.rig import Stopwatch, guest_folder, quiet_kernel
from nexemu.errors import OperatorError
from nexemu.kernel import Options
from nexemu.model import cache
from nexemu.model.assets import AssetFolder
from nexemu.model.reference import Reference
from nexemu.param import RAM_BYTES_WITH_MODEL

TOKENS: Final = 16
ROOM: Final = 8 << 20
"""Bytes of RAM for the loop beside its weights, which take one each."""
BEFORE, AFTER = b"running decode", b"SUMMARY"
"""In the lines before and after the decode."""


def smolprobe(setting: Setting) -> Probe:
    """``nexemu run -- smolprobe``: boot, load the model, decode the default prompt, leave."""
    _image()
    guest_folder()
    command = [*NEXEMU, "run", "--", "smolprobe"]
    return Probe("smolprobe, process", lambda: process_seconds(command), at_most=10.0, warm_up=False)


def token(setting: Setting) -> Probe:
    """One token, in processor time, against as many multiply-adds in a loop that does nothing else."""
    image, guests, tokens = _image(), guest_folder(), _tokens(setting)
    init = (guests / "init").read_bytes()

    def sample() -> float:
        console = Stopwatch(BEFORE, AFTER)
        kernel = quiet_kernel(Options(memory=RAM_BYTES_WITH_MODEL), console)
        for folder in (guests, image):
            kernel.load_files(folder)
        kernel.boot([b"init", b"--", *map(str.encode, _command(tokens))], init)
        kernel.run()
        return (console.when(AFTER) - console.when(BEFORE)) / tokens

    floors, remarks = [], []
    try:
        loop = PackedLoop(packed_loop(setting.stack), memory=AssetFolder(image).geometry.parameters + ROOM)
    except NotHere as missing:
        remarks.append(f"token: the floor was not measured: {missing}")
    else:
        floors.append(Floor("its multiply-adds, bare", loop.sample, at_most=1.5))
    return Probe("smolprobe, a token", sample, tuple(floors), remarks=tuple(remarks))


def token_process(setting: Setting) -> Probe:
    """One token by the clock on the wall, against other ways to have it."""
    image, tokens = _image(), _tokens(setting)
    guest_folder()
    command = [*NEXEMU, "run", "--", *_command(tokens)]
    floors = [Floor("NumPy, float32", _numpy(image))]
    remarks = []
    try:
        folder = smolprobe_for_linux(setting.stack, image)
    except NotHere as missing:
        remarks.append(f"token-process: a floor was not measured: {missing}")
    else:
        in_qemu = [QEMU, "smolprobe-linux", *_command(tokens)[1:]]
        floors.append(Floor(f"{QEMU}, the same C", lambda: decode_seconds(in_qemu, folder) / tokens))
    return Probe(
        "smolprobe, a token, by clock",
        lambda: decode_seconds(command, HOME) / tokens,
        tuple(floors),
        warm_up=not setting.quick,
        remarks=tuple(remarks),
    )


def decode_seconds(command: Sequence[str], folder: Path) -> float:
    """Run smolprobe in ``folder``; how long its decode takes, by when its lines come."""
    came: dict[bytes, float] = {}
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            came |= {word: perf_counter() for word in (BEFORE, AFTER) if word in line}
    if len(came) < 2:
        raise OperatorError(f"{' '.join(command)} ended with status {process.returncode} and no summary")
    return came[AFTER] - came[BEFORE]


def _tokens(setting: Setting) -> int:
    return 1 if setting.quick else TOKENS


def _command(tokens: int) -> list[str]:
    return ["smolprobe", "--prompt-tokens", "1", "--gen-len", str(tokens)]


def _image() -> Path:
    """The model's files. Raises NotHere."""
    image = cache.ready(os.environ.get("MODEL") or "auto")
    if image is None:
        raise NotHere("no model: run `nexemu model ensure`")
    return image


def _numpy(image: Path) -> Sample:
    reference = Reference(AssetFolder(image))

    def sample() -> float:
        reference.position = 0
        start = perf_counter()
        reference.forward(1)
        return perf_counter() - start

    return sample
