"""Compile the guest programs: ``python guest/build.py [--out DIR] [NAME...]``.

Role: bring ``nexemu/guests/`` up to date with ``guest/*.c`` and ``smolprobe/``, with zig from
PyPI (``python -m ziglang cc``) or with the gcc whose prefix the environment names in ``CROSS``.
All programs are made for NexOS's system calls (``guests/nexos``), those that need nothing else
for xv6's too (``guests/xv6``).
Owns: the compiled programs and ``guest/generated/``. Invariant: a program is compiled when
anything that it is made of differs from the last time, and replaced only by a finished one.

xv6: the user programs' part of the Makefile
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from generate import GENERATED, GUEST, generate
from toolchain import BuildError, Toolchain, find_toolchain

ROOT = GUEST.parent
OUT = ROOT / "nexemu" / "guests"
STAMPS = GENERATED / "stamps.json"
LINKER_SCRIPT = GUEST / "user.ld"
MODEL = ROOT / "smolprobe"

OWN_LIBRARY = (GUEST / "crt.S", GUEST / "ulib.c", GUEST / "umalloc.c")
"""Linked into every program, with the stubs of its ABI; the linker drops what it does not use."""

XV6_PROGRAMS = ("cat", "echo", "grep", "init", "kill", "ls", "mkdir", "rm", "sh", "wc")
"""What xv6's calls suffice for."""

MODEL_PROGRAMS = ("smolprobe", "smolsample", "smolbeam")
"""Of ``smolprobe/``; what else is there is for measurements."""

ALIASES = {"smol_probe": "smolprobe"}
"""Second names: the lab's instructions use both."""

CFLAGS = (
    *("-std=c11", "-O2", "-g0", "-Wall", "-Wextra"),
    "-Wframe-larger-than=1024",  # the whole user stack is one page
    *("-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fno-pic"),
    *("-mcmodel=medany", "-mno-relax", "-ffunction-sections", "-fdata-sections"),
)
LDFLAGS = (
    *("-nostdlib", "-static", f"-Wl,-T,{LINKER_SCRIPT}"),
    *("-Wl,--gc-sections", "-Wl,-z,max-page-size=4096"),
)

Report = Callable[[str], None]
"""Told each program as it is finished."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file to make: ``arguments`` are the compiler's, without the output."""

    target: Path
    inputs: tuple[Path, ...]
    arguments: tuple[str, ...]

    def digest(self, toolchain: Toolchain) -> str:
        """Equal when the result would be equal."""
        summed = hashlib.sha256(repr((toolchain, self.arguments)).encode())
        for path in self.inputs:
            summed.update(path.read_bytes())
        return summed.hexdigest()


def sources() -> dict[str, Path]:
    """Program name -> its one C file. The library's own files are not programs."""
    found = sorted(path for path in GUEST.glob("*.c") if path not in OWN_LIBRARY)
    model = [MODEL / f"{name}.c" for name in MODEL_PROGRAMS]
    return {path.stem: path for path in (*found, *filter(Path.exists, model))}


def parts(source: Path) -> tuple[Path, ...]:
    """The C files that a program is made of; those of ``smolprobe/`` include each other."""
    return tuple(sorted(MODEL.glob("*.c"))) if source.parent == MODEL else (source,)


def library(abi: str) -> tuple[Path, ...]:
    """The sources that every program of ``abi`` is linked with."""
    return (*OWN_LIBRARY, GENERATED / abi / "usys.S")


def includes(abi: str) -> tuple[str, str]:
    """Where headers are looked for."""
    return (f"-I{GUEST}", f"-I{GENERATED / abi}")


def library_jobs(abi: str) -> list[Job]:
    """One object for each library source."""
    headers = headers_in(GUEST, GENERATED / abi)
    return [
        Job(
            GENERATED / abi / f"{path.stem}.o",
            (path, *headers),
            (*CFLAGS, *includes(abi), "-c", str(path)),
        )
        for path in library(abi)
    ]


def program_job(abi: str, name: str, source: Path, out: Path) -> Job:
    """Compile and link one program; what runs the model is arithmetic and gets the compiler's best."""
    objects = [str(GENERATED / abi / f"{path.stem}.o") for path in library(abi)]
    speed = ("-O3",) if source.parent != GUEST else ()
    headers = headers_in(GUEST, GENERATED / abi, source.parent)
    return Job(
        out / abi / name,
        (*parts(source), *headers, *library(abi), LINKER_SCRIPT),
        (*CFLAGS, *includes(abi), *speed, str(source), *objects, *LDFLAGS),
    )


def headers_in(*folders: Path) -> tuple[Path, ...]:
    """Every header in ``folders``; any of them may change what includes it."""
    return tuple(sorted({header for folder in folders for header in folder.glob("*.h")}))


def make(job: Job, toolchain: Toolchain) -> None:
    """Run the compiler; the target appears whole or not at all."""
    unfinished = job.target.with_name(f".{job.target.name}.{os.getpid()}")
    command = (*toolchain.command, *job.arguments, "-o", str(unfinished))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        raise BuildError(f"cannot compile {job.target.name}:\n{(done.stderr or done.stdout).rstrip()}")
    unfinished.replace(job.target)


def make_all(jobs: Iterable[Job], toolchain: Toolchain, stamps: dict[str, str], report: Report) -> int:
    """Make those jobs whose digest is not the one in ``stamps``, on all cores; how many there were."""
    digests = {job: job.digest(toolchain) for job in jobs}
    stale = [job for job in digests if not job.target.exists() or stamps.get(str(job.target)) != digests[job]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [(job, pool.submit(make, job, toolchain)) for job in stale]
        for number, (job, result) in enumerate(results, start=1):
            result.result()
            stamps[str(job.target)] = digests[job]
            report(f"[{number:2}/{len(stale)}] {job.target.parent.name}/{job.target.name}")
    return len(stale)


def read_stamps() -> dict[str, str]:
    """Target -> digest of the last build; a damaged file only costs a rebuild."""
    try:
        return dict(json.loads(STAMPS.read_text()))
    except (OSError, ValueError):
        return {}


def write_stamps(stamps: dict[str, str]) -> None:
    """Remember what was built from what."""
    unfinished = STAMPS.with_name(f".{STAMPS.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(stamps, indent=1, sort_keys=True))
    unfinished.replace(STAMPS)


def choose(names: Sequence[str]) -> dict[str, Path]:
    """The programs that were asked for; all of them when none was."""
    programs = sources()
    wanted = [ALIASES.get(name, name) for name in names] or list(programs)
    unknown = [name for name in wanted if name not in programs]
    if unknown:
        raise BuildError(f"no such guest program: {', '.join(unknown)} (there are: {' '.join(programs)})")
    return {name: programs[name] for name in wanted}


def copy_aliases(folder: Path) -> None:
    """Give each program that has a second name a second file."""
    for alias, name in ALIASES.items():
        if (folder / name).exists():
            shutil.copyfile(folder / name, folder / alias)


def remove_orphans(out: Path) -> None:
    """Delete the programs that have lost their source; the wheel takes the folder as it is."""
    known = {out / "nexos" / name for name in (*sources(), *ALIASES)}
    known |= {out / "xv6" / name for name in XV6_PROGRAMS}
    for path in out.rglob("*"):
        if path.is_file() and path not in known:
            path.unlink()


def build(names: Sequence[str] = (), out: Path = OUT, report: Report = print) -> int:
    """Bring the named programs (all by default) up to date in ``out``; how many were compiled."""
    generate()
    programs = choose(names)
    toolchain = find_toolchain()
    wanted = {
        "nexos": programs,
        "xv6": {name: source for name, source in programs.items() if name in XV6_PROGRAMS},
    }
    stamps = read_stamps()
    try:
        for abi in wanted:
            (out / abi).mkdir(parents=True, exist_ok=True)
            make_all(library_jobs(abi), toolchain, stamps, lambda _: None)
        jobs = [program_job(abi, *program, out) for abi in wanted for program in wanted[abi].items()]
        made = make_all(jobs, toolchain, stamps, report)
    finally:
        write_stamps(stamps)
    copy_aliases(out / "nexos")
    if out == OUT:
        remove_orphans(out)
    return made


def main() -> int:
    """The command line: exit status 1 and the reason when something cannot be built."""
    parser = argparse.ArgumentParser(description="Compile the guest programs.")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="instead of nexemu/guests")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    options = parser.parse_args()
    try:
        made = build(options.names, options.out.resolve())
    except BuildError as error:
        print(f"guest/build.py: {error}", file=sys.stderr)
        return 1
    print(f"guests: {made} compiled into {options.out}" if made else "guests: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
