"""Which files exec can load, and what of them lies where: ABI.md section 2, "ELF loading", and XV6_ABI.md
section 4, read with nothing but struct.

The rules that both share: magic, program headers of 56 bytes inside the file, only PT_LOAD, filesz
at most memsz, page-aligned addresses, the file's bytes inside the file, the end below the
trapframe, room for guard and stack, enough frames. NexOS's own: aligned file offsets, and no page
of two segments. xv6's own: gaps are mapped.
"""

import struct
from typing import NamedTuple

from nexemu.memlayout import TRAPFRAME
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_V, PTE_W, PTE_X, pgroundup

PT_LOAD, PF_X, PF_W = 1, 1, 2
HEADER, ROW = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")
BASIC = PTE_V | PTE_U | PTE_R


class Row(NamedTuple):
    kind: int
    flags: int
    offset: int
    vaddr: int
    paddr: int
    filesz: int
    memsz: int
    align: int

    @property
    def end(self):
        return self.vaddr + self.memsz

    @property
    def rights(self):
        return BASIC | (PTE_W if self.flags & PF_W else 0) | (PTE_X if self.flags & PF_X else 0)


def loaded_rows(content):
    """The segments that would be loaded, or None for a file that is damaged at once."""
    if len(content) < HEADER.size or content[:4] != b"\x7fELF":
        return None
    fields = HEADER.unpack_from(content)
    table, size, count = fields[5], fields[9], fields[10]
    if size != ROW.size or table + size * count > len(content):
        return None
    rows = [Row(*ROW.unpack_from(content, table + size * number)) for number in range(count)]
    return [row for row in rows if row.kind == PT_LOAD and row.memsz]


def is_sound(row, content):
    in_file = row.offset + row.filesz <= len(content)
    return in_file and row.filesz <= row.memsz and row.vaddr % PGSIZE == 0 and row.end < TRAPFRAME


def pages_of(start, end):
    return range(start, pgroundup(end), PGSIZE)


def layout(rows, nexos):
    """Each page's rights, or None where NexOS finds a page twice. Not to be asked of huge segments."""
    rights, size = {}, 0
    for row in rows:
        for va in pages_of(row.vaddr if nexos else pgroundup(size), row.end):
            if va in rights:
                return None
            rights[va] = row.rights
        size = max(size, row.end)
    return rights


def image(content, nexos, frames):
    """What exec makes of the file with ``frames`` to spare: (entry, break, {page: (bytes, rights)}), or None
    when it must fail. Without the stack page, whose arguments are another matter."""
    rows = loaded_rows(content)
    if rows is None or not all(is_sound(row, content) for row in rows):
        return None
    if nexos and any(row.offset % PGSIZE for row in rows):
        return None
    spans = [row.end - row.vaddr if nexos else row.end for row in rows]
    size = max((row.end for row in rows), default=0)
    top = pgroundup(size) + 2 * PGSIZE
    if any(span > frames * PGSIZE for span in spans) or top > TRAPFRAME:
        return None
    rights = layout(rows, nexos)
    if rights is None or frames_for([*rights, top - 2 * PGSIZE, top - PGSIZE]) > frames:
        return None
    data = {va: bytearray(PGSIZE) for va in rights}
    for row in rows:
        for at in range(0, row.filesz, PGSIZE):
            piece = content[row.offset + at : row.offset + min(at + PGSIZE, row.filesz)]
            data[row.vaddr + at][: len(piece)] = piece
    entry = HEADER.unpack_from(content)[4]
    return entry, top, {va: (bytes(data[va]), rights[va]) for va in rights}


def frames_for(pages):
    """Pages, their tables, the root, the trapframe, and two tables for the top of the space."""
    last, middle = {va >> 21 for va in pages}, {va >> 30 for va in pages}
    top = TRAPFRAME
    return len(pages) + len(last | {top >> 21}) + len(middle | {top >> 30}) + 2
