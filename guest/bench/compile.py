"""Compile what a token of smolprobe is compared with: ``PYTHONPATH=guest python guest/bench/compile.py DIR``.

Role: fills DIR with ``packed_loop``, a guest program, and ``smolprobe-linux``, the same smolprobe with
Linux's system calls in place of the guest's, for qemu-riscv64. Compiler and options are those of the
guests. Owns nothing; ``nexemu bench`` calls it.
"""

import sys
from pathlib import Path

from build import CFLAGS, GUEST, ROOT, Job, includes, library_jobs, make, make_all, program_job, read_stamps
from generate import generate
from toolchain import BuildError, find_toolchain

ABI = "nexos"
SMOLPROBE = ROOT / "smolprobe"
LINUX_SOURCES = (SMOLPROBE / "smolprobe.c", ROOT / "tests" / "smolprobe_native_shim.c", GUEST / "ulib.c")


def compile_into(folder: Path) -> None:
    """Make both programs. Raises BuildError."""
    generate()
    toolchain = find_toolchain()
    make_all(library_jobs(ABI), toolchain, read_stamps(), lambda _: None)
    loop = program_job(ABI, "packed_loop", SMOLPROBE / "packed_loop.c", folder)
    linux = (*CFLAGS, *includes(ABI), "-O3", "-nostdlib", "-static", *map(str, LINUX_SOURCES))
    make(Job(folder / "packed_loop", loop.inputs, loop.arguments), toolchain)
    make(Job(folder / "smolprobe-linux", LINUX_SOURCES, linux), toolchain)


def main() -> int:
    """The command line: exit status 1 and the reason when something cannot be compiled."""
    try:
        compile_into(Path(sys.argv[1]))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
