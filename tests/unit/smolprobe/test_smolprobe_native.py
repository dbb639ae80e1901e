"""The same C on Linux itself: no undefined behaviour, the same tokens, and pages that Linux counts."""

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from smolprobe_formula import Cache, new_pages
from smolprobe_machine import TINY, smolprobe

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the shim is for Linux on x86-64"
    ),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs zig"),
]

ROOT = Path(__file__).parents[3]
SOURCES = ("smolprobe/smolprobe.c", "guest/ulib.c", "tests/smolprobe_native_shim.c")
FLAGS = (
    *("-target", "x86_64-linux-none", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"),
    *("-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fno-pic", "-nostdlib", "-static"),
    *("-fsanitize=undefined", "-fsanitize-trap=undefined"),
    *("-Iguest", "-Iguest/generated/nexos"),
)


class Native(NamedTuple):
    status: int
    output: str
    generated: list[int]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    built = tmp_path_factory.mktemp("native") / "smolprobe"
    command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *SOURCES, "-o", str(built)]
    subprocess.run(command, cwd=ROOT, check=True)
    return built


@pytest.fixture
def native(program, tiny, tmp_path):
    """Run it on the tiny image, in a folder of its own."""
    for file in tiny.iterdir():
        (tmp_path / file.name).symlink_to(file)

    def native(*options: str) -> Native:
        with subprocess.Popen([program, *options], cwd=tmp_path, stdout=subprocess.PIPE) as child:
            output, _ = child.communicate(timeout=60)
        result = tmp_path / f"AI.{child.pid}.OUT"
        generated = [int(token) for token in result.read_text().split()] if result.exists() else []
        return Native(child.returncode, output.decode(errors="replace"), generated)

    return native


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--prompt-tokens", "1,2,3", "--gen-len", "60"],
        ["--prompt", "naïve 42 's", "--show-text"],
    ],
)
def test_it_does_on_linux_what_it_does_on_the_machine(native, tiny, options):
    there, here = native(*options), smolprobe(*options, image=tiny)
    assert (there.status, there.generated) == (0, here.generated)
    assert there.output.splitlines()[:-3] == here.lines[:-3]  # all but what counts page tables


@pytest.mark.parametrize("offset", [0, 16, 4080])
def test_linux_counts_the_pages_of_the_formula(native, offset):
    if os.sysconf("SC_PAGESIZE") != 4096:
        pytest.skip("pages of another size")
    cache = Cache(2 * TINY.layers, TINY.runtime_seq_len * TINY.kv_dim * 4, TINY.kv_dim * 4)
    ran = native("--prompt-tokens", "1,2,3", "--gen-len", "40", "--kv-offset", str(offset))
    assert f" decode_phase mapped_pages={new_pages(cache, offset, 42)} " in ran.output
