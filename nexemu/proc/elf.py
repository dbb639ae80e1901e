"""ELF executables: what of a file goes where in memory.

pyelftools reads the headers; this module decides whether the file can be trusted. Everything
that the loader will later rely on is checked here, before the old image is touched.

xv6: kernel/elf.h and the checks in kernel/exec.c. ABI.md section 2, "ELF loading".
"""

from collections.abc import Iterable
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.structs import ELFStructs

from nexemu.errors import BadExecutable
from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import PGMASK, PTE_R, PTE_U, PTE_W, PTE_X, VA, pgroundup

ELF64_HEADER_BYTES = 64
PROGRAM_HEADER_BYTES = 56
PF_X, PF_W = 1, 2
MAGIC = b"\x7fELF"
UNSAID = bytes(12)
"""In place of the 12 bytes behind the magic number: no kernel of this kind looks at them, and pyelftools
refuses values that it does not know."""


class Segment(NamedTuple):
    """At ``vaddr``: ``filesz`` bytes of the file from ``offset``, then zeros up to ``memsz``. ``flags``
    are PTE flags."""

    vaddr: VA
    memsz: int
    offset: int
    filesz: int
    flags: int

    @property
    def end(self) -> VA:
        """One beyond its last byte."""
        return self.vaddr + self.memsz


class Executable(NamedTuple):
    """A program that can be loaded: its entry, and its segments in the order of the file."""

    entry: VA
    segments: tuple[Segment, ...]


def read_executable(content: memoryview, apart: bool) -> Executable:
    """The ELF64 file ``content``. Raises BadExecutable. ``apart``: segments must share no page and lie
    page aligned in the file too."""
    structs = ELFStructs(little_endian=True, elfclass=64)
    structs.create_basic_structs()
    structs.create_advanced_structs()
    header = _parse(structs.Elf_Ehdr, MAGIC + UNSAID + content[16:ELF64_HEADER_BYTES], "header")
    if content[:4] != MAGIC:
        raise BadExecutable("not an ELF file")
    if header["e_phentsize"] != PROGRAM_HEADER_BYTES:
        raise BadExecutable(f"program headers of {header['e_phentsize']} bytes, not {PROGRAM_HEADER_BYTES}")
    table = _slice(content, header["e_phoff"], header["e_phnum"] * PROGRAM_HEADER_BYTES, "program headers")
    rows = [table[at : at + PROGRAM_HEADER_BYTES] for at in range(0, len(table), PROGRAM_HEADER_BYTES)]
    parsed = [_parse(structs.Elf_Phdr, row, "program header") for row in rows]
    loaded = [row for row in parsed if row["p_type"] == "PT_LOAD" and row["p_memsz"]]
    segments = tuple(_segment(row, content) for row in loaded)
    if apart:
        _check_apart(segments)
    return Executable(header["e_entry"], segments)


def _check_apart(segments: Iterable[Segment]) -> None:
    for segment in segments:
        if segment.offset & PGMASK:
            raise BadExecutable(
                f"segment at {segment.vaddr:#x}: file offset {segment.offset:#x} is unaligned"
            )
    for lower, upper in pairwise(sorted(segments)):
        if upper.vaddr < pgroundup(lower.end):
            raise BadExecutable(f"segments at {lower.vaddr:#x} and {upper.vaddr:#x} share a page")


def _parse(struct: Any, data: bytes | memoryview, what: str) -> Any:
    try:
        return struct_parse(struct, BytesIO(data))
    except ELFError as error:
        raise BadExecutable(f"the {what} is cut short") from error


def _slice(content: memoryview, offset: int, count: int, what: str) -> memoryview:
    if offset + count > len(content):
        raise BadExecutable(f"the {what} end beyond the file")
    return content[offset : offset + count]


def _segment(row: Any, content: memoryview) -> Segment:
    """A PT_LOAD row, checked. Python's integers do not wrap, so neither do these sums."""
    vaddr, memsz, offset, filesz = row["p_vaddr"], row["p_memsz"], row["p_offset"], row["p_filesz"]
    if filesz > memsz:
        raise BadExecutable(f"segment at {vaddr:#x}: {filesz} bytes in the file, {memsz} in memory")
    if vaddr & PGMASK:
        raise BadExecutable(f"segment at {vaddr:#x}: not page aligned")
    if vaddr + memsz >= TRAPFRAME:
        raise BadExecutable(f"segment at {vaddr:#x}: reaches the trapframe")
    _slice(content, offset, filesz, f"bytes of the segment at {vaddr:#x}")
    flags = PTE_U | PTE_R | (PTE_W if row["p_flags"] & PF_W else 0) | (PTE_X if row["p_flags"] & PF_X else 0)
    return Segment(vaddr, memsz, offset, filesz, flags)
