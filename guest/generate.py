"""The guest's view of the system calls, written out of the kernel's own table.

Role: turn each table in ``nexemu/abi.py`` into ``generated/ABI/syscalls.h`` (numbers, constants,
structures, prototypes) and ``generated/ABI/usys.S`` (one stub a call), so that kernel and guests
cannot differ.
Owns: ``guest/generated/``. Invariant: a file is rewritten only when its text changes.

xv6: user/usys.pl
"""

import importlib.util
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

GUEST = Path(__file__).resolve().parent
ABI_FILE = GUEST.parent / "nexemu" / "abi.py"
GENERATED = GUEST / "generated"

STRUCTS = {
    "stat": ("STAT", "dev ino type nlink size"),
    "dirent": ("DIRENT", "inum name"),
    "memstat": ("MEMSTAT", "free_pages used_pages proc_mapped_pages proc_sz_pages"),
    "procinfo": ("PROCINFO", "pid ppid state mapped_pages size_pages reserved name"),
    "ai_status": (None, "reqid state err result_len"),
}
"""Structure -> (the constant in abi.py with its format, or None for all int; the fields' names)."""

TABLES = {"nexos": "NEXOS", "xv6": "XV6"}
"""ABI -> the name of its table in abi.py."""

CTYPES = {"i": "int", "I": "uint", "h": "short", "H": "ushort", "Q": "uint64"}

CONSTANTS = re.compile(r"(O|PROT|MAP|T|SBRK)_[A-Z]+$")
"""The names in abi.py that programs use as well."""


def load_abi() -> ModuleType:
    """``nexemu/abi.py`` by its path: the package's own dependencies may not be installed yet."""
    spec = importlib.util.spec_from_file_location("nexemu_abi", ABI_FILE)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(ABI_FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def struct_fields(layout: str, names: str) -> Iterator[str]:
    """The C declarations of a :mod:`struct` format; padding is what the C compiler adds by itself."""
    remaining = iter(names.split())
    for count, code in re.findall(r"(\d*)([a-zA-Z])", layout):
        if code == "s":
            yield f"char {next(remaining)}[{count}];"
        elif code != "x":
            yield f"{CTYPES[code]} {next(remaining)};"


def c_struct(abi: ModuleType, name: str) -> str:
    """``struct name``, with the compiler's proof that its size is the kernel's."""
    constant, names = STRUCTS[name]
    layout = getattr(abi, constant) if constant else "<" + "i" * len(names.split())
    body = "\n".join(f"    {field}" for field in struct_fields(layout, names))
    size = struct.calcsize(layout)
    return f'struct {name} {{\n{body}\n}};\n_Static_assert(sizeof(struct {name}) == {size}, "{name}");\n'


def syscalls_h(abi: ModuleType, name: str) -> str:
    """The header: plain numbers for assembly and C, then what only C understands."""
    rows = getattr(abi, TABLES[name])
    numbers = "\n".join(f"#define SYS_{row.name} {row.number}" for row in rows)
    constants = "\n".join(f"#define {name} {value:#x}" for name, value in constants_of(abi))
    states = ", ".join(f'"{name}"' for name in abi.PROC_STATES)
    structs = "\n".join(c_struct(abi, name) for name in STRUCTS)
    prototypes = "\n".join(prototype(row) for row in rows)
    return f"""\
/* Generated from nexemu/abi.py by guest/generate.py; edit that table instead. */
#ifndef NEXEMU_SYSCALLS_H
#define NEXEMU_SYSCALLS_H

#define ABI_{name.upper()} 1

{numbers}

{constants}

#ifndef __ASSEMBLER__

#define PROC_STATES {{ {states} }} /* struct procinfo's state indexes this */

typedef unsigned char uint8;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long uint64;

{structs}
{prototypes}

#endif
#endif
"""


def constants_of(abi: ModuleType) -> list[tuple[str, int]]:
    """The flags of open, mmap, stat and sbrk, as (name, value)."""
    return [(name, value) for name, value in vars(abi).items() if CONSTANTS.match(name)]


def prototype(row: Any) -> str:
    """A call's C declaration; the compiler may know that exit() does not return."""
    declaration: str = row.c_declaration()
    return f"__attribute__((noreturn)) {declaration}" if " exit(" in declaration else declaration


def usys_s(abi: ModuleType, name: str) -> str:
    """One stub a call: the number goes into a7, the arguments are where C put them."""
    stubs = "\n".join(f"SYSCALL({row.name})" for row in getattr(abi, TABLES[name]))
    return f"""\
# Generated from nexemu/abi.py by guest/generate.py; edit that table instead.

#include "syscalls.h"

#define SYSCALL(name) .globl name; name: li a7, SYS_##name; ecall; ret

        .text

{stubs}
"""


def write_if_changed(path: Path, text: str) -> None:
    """Leave the file alone when it says the same: its time stamp means "changed"."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate() -> None:
    """Bring ``guest/generated/`` up to date."""
    abi = load_abi()
    for name in TABLES:
        folder = GENERATED / name
        folder.mkdir(parents=True, exist_ok=True)
        write_if_changed(folder / "syscalls.h", syscalls_h(abi, name))
        write_if_changed(folder / "usys.S", usys_s(abi, name))


if __name__ == "__main__":
    generate()
