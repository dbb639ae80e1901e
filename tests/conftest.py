"""Memory for unit tests; compiled guests and machines for the tests that run them."""

import hashlib
import re
import subprocess
import sys
from functools import cache
from importlib import import_module

import pytest
from elftools.elf.elffile import ELFFile
from support import ROOT, SWITCH_IDS, SWITCHES, Machine, Memory

from nexemu.model.cache import ready

PROGRAMS = ROOT / "tests" / "guest" / "programs"


@pytest.fixture(params=SWITCHES, ids=SWITCH_IDS)
def switches(request):
    """Both switches, in all four settings."""
    lazy, cow = request.param
    return {"lazy": lazy, "cow": cow}


@pytest.fixture
def make_memory():
    """Memories that are audited, taken apart and found complete at the end of the test."""
    made = []

    def make(**how):
        made.append(Memory(**how))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.fixture
def memory(make_memory):
    return make_memory()


@pytest.fixture
def space(memory):
    return memory.space()


@pytest.fixture(scope="session")
def build():
    """``guest/build.py``."""
    sys.path.insert(0, str(ROOT / "guest"))
    return import_module("build")


COMPRESSED = re.compile(r"(^|\s)c\.")


def split(text):
    return [line for lines in text.splitlines() for line in lines.split(";")]


@pytest.fixture(scope="session")
def assemble(build, request, tmp_path_factory):
    """The machine code of some lines of assembly, which may refer to their own labels only. Compressed
    instructions are used where they are written so (``c.lw``), and nowhere else. Pytest's cache keeps the
    results: calling an assembler hundreds of times takes longer than the tests."""
    folder = tmp_path_factory.mktemp("assembly")
    toolchain = build.find_toolchain()
    kept = request.config.cache

    def make(text):
        source, result = folder / "code.S", folder / "code.o"
        lines = [
            f".option {'rvc' if COMPRESSED.search(line) else 'norvc'}" + "\n" + line for line in split(text)
        ]
        source.write_text("\n".join([*lines, ""]))
        subprocess.run([*toolchain.command, "-mno-relax", "-c", str(source), "-o", str(result)], check=True)
        with result.open("rb") as file:
            return ELFFile(file).get_section_by_name(".text").data()

    @cache
    def code(text):
        key = f"assembly/{hashlib.sha256(f'{toolchain.identity}{text}'.encode()).hexdigest()}"
        found = kept.get(key, None)
        if found is None:
            found = make(text).hex()
            kept.set(key, found)
        return bytes.fromhex(found)

    return code


@pytest.fixture(scope="session")
def guests(build):
    """The folder of the package's own guests, brought up to date."""
    build.build(report=lambda _: None)
    return build.OUT / "nexos"


@pytest.fixture(scope="session")
def programs(build, guests, tmp_path_factory):
    """The folder of the tests' own guests, compiled as the package's are."""
    out = tmp_path_factory.mktemp("programs")
    jobs = [build.program_job("nexos", path.stem, path, out) for path in sorted(PROGRAMS.glob("*.c"))]
    (out / "nexos").mkdir()
    build.make_all(jobs, build.find_toolchain(), {}, lambda _: None)
    return out / "nexos"


@pytest.fixture(scope="session")
def compile_guest(build, guests, tmp_path_factory):
    """Compile one more guest, once; the folder that holds it."""

    @cache
    def compile_guest(source):
        out = tmp_path_factory.mktemp(source.stem)
        (out / "nexos").mkdir()
        build.make(build.program_job("nexos", source.stem, source, out), build.find_toolchain())
        return out / "nexos"

    return compile_guest


@pytest.fixture(scope="session")
def smollm2():
    """The real model's image."""
    folder = ready("smollm2")
    if folder is None:
        pytest.skip("SmolLM2 is not in the cache: run `nexemu model fetch`")
    return folder


@pytest.fixture(scope="session")
def machine(guests, programs):
    """Machines with the package's guests and the tests'."""
    return Machine((guests / "init").read_bytes(), [guests, programs])
