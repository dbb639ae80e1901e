"""Probes of smolprobe: the whole program, and one token of its decode.

A token is the time from the text of one to the text of the next, the middle one of many: the first
few, during which the TLB grows to the size of the model, are slower.
"""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from nexemu.bench.child import HOME, NEXEMU, process_seconds, watch
from nexemu.bench.compiled import QEMU, packed_loop, smolprobe_for_linux
from nexemu.bench.packed import PackedLoop
from nexemu.bench.probe import Floor, NotHere, Probe, Sample, Setting
from nexemu.bench.rig import Shown, Stopwatch, first_with, guest_folder, quiet_kernel
from nexemu.kernel import Options
from nexemu.model import cache
from nexemu.model.assets import AssetFolder
from nexemu.model.reference import Reference
from nexemu.param import RAM_BYTES_WITH_MODEL

PROMPT: Final = "504,3575,282,4649,314"  # The capital of France is
TOKENS: Final = 24
QUICK_TOKENS: Final = 3
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
    image, guests = _image(), guest_folder()
    init, argv = (guests / "init").read_bytes(), [b"init", b"--", *map(str.encode, _command(setting))]

    def sample() -> float:
        console = Stopwatch()
        kernel = quiet_kernel(Options(memory=RAM_BYTES_WITH_MODEL), console)
        for folder in (guests, image):
            kernel.load_files(folder)
        kernel.boot(argv, init)
        kernel.run()
        return token_seconds(console.shown)

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
    image = _image()
    guest_folder()
    command = [*NEXEMU, "run", "--", *_command(setting)]
    floors = [Floor("NumPy, float32", _numpy(image))]
    remarks = []
    try:
        folder = smolprobe_for_linux(setting.stack, image)
    except NotHere as missing:
        remarks.append(f"token-process: a floor was not measured: {missing}")
    else:
        in_qemu = [QEMU, "smolprobe-linux", *_command(setting)[1:]]
        floors.append(Floor(f"{QEMU}, the same C", lambda: token_seconds(watch(in_qemu, folder))))
    return Probe(
        "smolprobe, a token, by clock",
        lambda: token_seconds(watch(command, HOME)),
        tuple(floors),
        warm_up=not setting.quick,
        remarks=tuple(remarks),
    )


def token_seconds(shown: Sequence[Shown]) -> float:
    """From one token's text to the next, the median. Raises OperatorError when there was no decode."""
    decode = shown[first_with(BEFORE, shown) : first_with(AFTER, shown) + 1]
    return median(later.at - earlier.at for earlier, later in pairwise(decode))


def _command(setting: Setting) -> list[str]:
    tokens = QUICK_TOKENS if setting.quick else TOKENS
    return ["smolprobe", "--prompt-tokens", PROMPT, "--gen-len", str(tokens), "--show-text"]


def _image() -> Path:
    """The model's files. Raises NotHere."""
    image = cache.ready(os.environ.get("MODEL") or "auto")
    if image is None:
        raise NotHere("no model: run `nexemu model ensure`")
    return image


def _numpy(image: Path) -> Sample:
    """The reference, which has the same number of positions behind it each time."""
    reference = Reference(AssetFolder(image))

    def sample() -> float:
        reference.position = 0
        start = perf_counter()
        reference.forward(1)
        return perf_counter() - start

    return sample
