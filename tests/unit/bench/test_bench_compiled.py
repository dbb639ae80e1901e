"""What a token is compared with compiles in a checkout, and is gone afterwards."""

import os
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

from nexemu.bench import compiled
from nexemu.bench.packed import PackedLoop
from nexemu.bench.probe import NotHere
from nexemu.model.geometry import SMOLLM2_135M

has_compiler = pytest.mark.skipif(
    find_spec("ziglang") is None and not os.environ.get("CROSS"), reason="no guest compiler"
)


@has_compiler
@pytest.mark.slow
def test_the_packed_loop_does_a_tokens_work_on_a_bare_machine():
    with ExitStack() as stack:
        program = compiled.packed_loop(stack)
        loop = PackedLoop(program, SMOLLM2_135M.parameters + (8 << 20))
        loop.sample()
        weights = loop._break
        assert loop.sample() > 0
    assert weights > SMOLLM2_135M.parameters - 61 * SMOLLM2_135M.dim  # all but the norms, a byte each
    assert loop._break == weights
    assert not program.exists()


@has_compiler
def test_smolprobe_for_linux_lies_among_the_models_files(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled.shutil, "which", lambda name: f"/usr/bin/{name}")
    (tmp_path / "CFG.BIN").write_bytes(b"config")
    with ExitStack() as stack:
        folder = compiled.smolprobe_for_linux(stack, tmp_path)
        assert (folder / "smolprobe-linux").read_bytes().startswith(b"\x7fELF")
        assert (folder / "CFG.BIN").read_bytes() == b"config"
        (folder / "written").touch()
    assert [file.name for file in tmp_path.iterdir()] == ["CFG.BIN"]


def test_without_qemu_it_is_not_here(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled.shutil, "which", lambda name: None)
    with ExitStack() as stack, pytest.raises(NotHere, match="qemu-riscv64 is not installed"):
        compiled.smolprobe_for_linux(stack, tmp_path)


def test_without_the_source_it_is_not_here(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "COMPILE", tmp_path / "compile.py")
    with ExitStack() as stack, pytest.raises(NotHere, match="no C source"):
        compiled.packed_loop(stack)


def test_a_compiler_that_fails_is_quoted(tmp_path, monkeypatch):
    script = tmp_path / "compile.py"
    script.write_text("import sys; sys.exit('no compiler here')")
    monkeypatch.setattr(compiled, "COMPILE", script)
    with ExitStack() as stack, pytest.raises(NotHere, match=r"^no compiler here$"):
        compiled.packed_loop(stack)
