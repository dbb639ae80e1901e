"""ELF files: what is loaded, and which damage is refused. ABI.md section 2, "ELF loading"; CASES 17."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Memory, Segment, elf_file

from nexemu.errors import BadExecutable, OutOfMemory
from nexemu.personality import NEXOS
from nexemu.proc.elf import read_executable
from nexemu.proc.exec import load
from nexemu.riscv import PTE_R, PTE_U, PTE_W, PTE_X

PAGE = 4096
TRAPFRAME = 0x3F_FFFF_E000
TEXT = Segment(0, b"\x13\0\0\0" * 40, flags=5)
DATA = Segment(PAGE, b"data", memsz=100, flags=6)


def read(content, apart=True):
    return read_executable(memoryview(content), apart)


def refused(*segments, match, apart=True, **header):
    with pytest.raises(BadExecutable, match=match):
        read(elf_file(*segments, **header), apart)


# ---- what is right ----------------------------------------------------------------------------


def test_segments_come_with_their_place_sizes_and_rights():
    program = read(elf_file(TEXT, DATA, entry=8))
    assert program.entry == 8
    assert program.segments == (
        (0, 160, PAGE, 160, PTE_U | PTE_R | PTE_X),
        (PAGE, 100, 2 * PAGE, 4, PTE_U | PTE_R | PTE_W),
    )


@pytest.mark.parametrize(
    ("flags", "bits"),
    [(4, 0), (5, PTE_X), (6, PTE_W), (7, PTE_W | PTE_X), (1, PTE_X), (2, PTE_W), (0, 0), (0xFFFF_FFF0, 0)],
)
def test_every_user_page_is_readable_w_and_x_come_from_the_file(flags, bits):
    (segment,) = read(elf_file(Segment(0, b"x", flags=flags))).segments
    assert segment.flags == PTE_U | PTE_R | bits


@pytest.mark.parametrize("kind", [0, 2, 3, 4, 6, 7, 0x6474_E551, 0x7000_0003, 0xFFFF_FFFF])
def test_only_pt_load_is_loaded_whatever_the_others_say(kind):
    other = Segment(123, b"junk", memsz=1, kind=kind, offset=1 << 63, filesz=1 << 62)
    assert len(read(elf_file(other, TEXT, other)).segments) == 1


def test_an_empty_segment_is_skipped_before_anything_of_it_is_looked_at():
    empty = Segment(0x12345, memsz=0, offset=777, filesz=1 << 60)
    assert len(read(elf_file(TEXT, empty)).segments) == 1


def test_a_pure_bss_segment_is_right():
    bss = Segment(PAGE, memsz=3 * PAGE, flags=6)
    assert read(elf_file(TEXT, bss)).segments[1][:2] == (PAGE, 3 * PAGE)


def test_machine_type_and_entry_are_not_checked():
    program = read(elf_file(TEXT, type=3, machine=62, entry=(1 << 64) - 2))
    assert program.entry == (1 << 64) - 2


def test_the_program_headers_may_lie_anywhere_in_the_file():
    content = elf_file(TEXT)
    moved = content + content[64 : 64 + 56]
    assert read(moved[:32] + struct.pack("<Q", len(content)) + moved[40:]).segments[0].filesz == 160


def test_segments_may_end_right_below_the_trapframe():
    top = Segment(TRAPFRAME - PAGE, b"", memsz=PAGE - 1)
    assert read(elf_file(top)).segments[0].end == TRAPFRAME - 1
    refused(Segment(TRAPFRAME - PAGE, b"", memsz=PAGE), match="trapframe")


# ---- what is damaged --------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 4, 16, 63])
def test_a_file_shorter_than_the_header(length):
    with pytest.raises(BadExecutable, match="cut short"):
        read(elf_file(TEXT)[:length])


@pytest.mark.parametrize("magic", [b"\x7fELE", b"#!/b", b"\0\0\0\0", b"\x7felf"])
def test_another_magic_number(magic):
    refused(TEXT, ident=magic + bytes(12), match="not an ELF")


@pytest.mark.parametrize("size", [0, 32, 55, 57, 0xFFFF])
def test_program_headers_of_another_size(size):
    refused(TEXT, phentsize=size, match=f"{size} bytes")


@pytest.mark.parametrize(
    "header",
    [{"phoff": 2 * PAGE - 8}, {"phnum": 0xFFFF}, {"phoff": (1 << 64) - 56}, {"phoff": (1 << 64) - 1}],
)
def test_program_headers_beyond_the_file(header):
    refused(TEXT, **header, match="beyond the file")


@pytest.mark.parametrize(
    ("segment", "match"),
    [
        (Segment(0, b"abcd", memsz=3), "4 bytes in the file, 3 in memory"),
        (Segment(0, b"abcd", filesz=1 << 63, memsz=(1 << 64) - 1), "trapframe"),
        (Segment(8, b"abcd"), "aligned"),
        (Segment(PAGE - 1, b"abcd"), "aligned"),
        (Segment(0, b"abcd", offset=PAGE + 8), "unaligned"),
        (Segment(0, b"abcd", offset=3 * PAGE), "beyond the file"),
        (Segment(0, b"abcd", filesz=PAGE + 1, memsz=2 * PAGE), "beyond the file"),
        (Segment(0, b"abcd", offset=(1 << 64) - PAGE, filesz=2 * PAGE, memsz=2 * PAGE), "beyond the file"),
        (Segment((1 << 64) - PAGE, b"abcd", memsz=2 * PAGE), "trapframe"),
        (Segment((1 << 64) - PAGE, b"abcd"), "trapframe"),
        (Segment(1 << 38, b"abcd"), "trapframe"),
        (Segment(TRAPFRAME, b"abcd"), "trapframe"),
        (Segment(0, b"abcd", memsz=1 << 38), "trapframe"),
        (Segment(0, b"abcd", memsz=(1 << 64) - 1), "trapframe"),
        (Segment(PAGE, b"abcd", memsz=(1 << 64) - 100), "trapframe"),
    ],
)
def test_a_segment_that_cannot_be(segment, match):
    refused(segment, match=match)


@pytest.mark.parametrize("other", [Segment(0, b"x"), Segment(PAGE, b"x"), Segment(0, b"x", memsz=2 * PAGE)])
def test_segments_that_share_a_page(other):
    refused(Segment(0, b"x" * (PAGE + 1)), other, match="share a page")
    refused(other, Segment(0, b"x" * (PAGE + 1)), match="share a page")


# ---- whatever comes -----------------------------------------------------------------------------

GOOD = elf_file(TEXT, DATA, entry=0)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 64 + 2 * 56 - 1), st.integers(0, 255)), max_size=6),
    st.integers(0, len(GOOD)),
)
def test_a_damaged_file_is_loaded_or_refused_and_nothing_else(changes, length):
    content = bytearray(GOOD)
    for at, byte in changes:
        content[at] = byte
    memory = Memory(pages=64)
    space = memory.space()
    with suppress(BadExecutable, OutOfMemory):
        load(space, memoryview(bytes(content[:length])), [b"a"], NEXOS)
    memory.close()
