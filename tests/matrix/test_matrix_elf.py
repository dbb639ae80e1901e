"""exec of files in which every field that the loader reads is wrong in turn: -1 and the old image as it was,
or the image that the file describes."""

import struct
from itertools import combinations

import pytest
from gate import Gate, poke, view
from hypothesis import given, settings
from hypothesis import strategies as st
from matrix_elf import HEADER, ROW, image
from support import Segment, elf_file

from nexemu.memlayout import TRAPFRAME
from nexemu.personality import NEXOS, XV6
from nexemu.riscv import PGSIZE, U64

CALLER = (Segment(0, b"/a\0", flags=5), Segment(PGSIZE, b"old data", flags=6))
PATH, NO_ARGUMENTS = 0, 64
PATH_TOO = PGSIZE + 256
PERSONALITIES = pytest.mark.parametrize("personality", [NEXOS, XV6], ids=["nexos", "xv6"])

GOOD = elf_file(
    Segment(0, b"text" * 1025, flags=5),
    Segment(2 * PGSIZE, b"data", memsz=3 * PGSIZE, flags=6),
    Segment(0, b"", memsz=0, kind=0x7000_0003),
)
assert len(GOOD) == 4 * PGSIZE


class Exec:
    """A process that calls exec on one file after the other."""

    def __init__(self, personality, pages=300):
        self.gate = Gate(personality, pages=pages, files={b"/a": b""})
        self.nexos = personality is NEXOS

    def attempt(self, content):
        """Put the file there, call exec, compare; whether it was loaded."""
        gate = self.gate
        gate.put(b"/a", content)
        proc = gate.spawn(*CALLER)
        before, free = view(proc.space), gate.frames.free_frames
        expected = image(content, self.nexos, free)
        answer = gate.call(proc, "exec", PATH, NO_ARGUMENTS)
        if expected is None:
            assert answer == -1
            assert view(proc.space) == before
            assert gate.frames.free_frames == free
            assert proc.name == "victim"
        else:
            entry, top, pages = expected
            assert (answer, proc.context.pc, proc.space.size) == (0, entry, top)
            found = view(proc.space)
            assert {va: found[va] for va in pages} == pages
            assert {va for va in found if va < TRAPFRAME} == {*pages, top - PGSIZE, top - 2 * PGSIZE}
        gate.put(b"/a", b"")
        gate.restore()
        return expected is not None


@pytest.fixture(scope="module")
def execs():
    made = {}
    return lambda personality: made.setdefault(personality.name, Exec(personality))


def patched(content, at, form, number):
    size = struct.calcsize(form)
    return content[:at] + (number & (1 << 8 * size) - 1).to_bytes(size, "little") + content[at + size :]


def fields():
    """Name, place and format of each field of the header and of the program headers."""
    names = (
        "ident type machine version entry phoff shoff flags ehsize phentsize phnum shentsize shnum shstrndx"
    )
    yield from walk("ehdr", 0, HEADER, names)
    for number in range(3):
        names = "type flags offset vaddr paddr filesz memsz align"
        yield from walk(f"phdr{number}", 64 + number * ROW.size, ROW, names)


def walk(title, at, layout, names):
    sizes = {"16s": 16, "H": 2, "I": 4, "Q": 8}
    forms = (
        [form for form in ("16s", *layout.format[4:]) if form in sizes]
        if title == "ehdr"
        else list(ROW.format[1:])
    )
    for name, form in zip(names.split(), forms, strict=True):
        yield f"{title}.{name}", at, form
        at += sizes[form]


NUMBERS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 55, 56, 57, 64, 120, 0xFF, 0xFFFF, 0xFFFF_FFFF, U64, U64 - 1),
    *(PGSIZE - 1, PGSIZE, PGSIZE + 1, 2 * PGSIZE, 3 * PGSIZE, 4 * PGSIZE, 5 * PGSIZE, 16 * PGSIZE),
    *(len(GOOD) - 1, len(GOOD) + 1, 1 << 20, 1 << 30, 1 << 31, 1 << 32, (1 << 32) + PGSIZE, 1 << 38, 1 << 39),
    *(
        TRAPFRAME - 3 * PGSIZE,
        TRAPFRAME - 2 * PGSIZE,
        TRAPFRAME - PGSIZE,
        TRAPFRAME - 1,
        TRAPFRAME,
        TRAPFRAME + PGSIZE,
    ),
    *(1 << 62, 1 << 63, (1 << 63) + PGSIZE, U64 - PGSIZE + 1, U64 - 2 * PGSIZE + 1, U64 - len(GOOD) + 1),
)
NEVER_READ = [
    f"ehdr.{name}"
    for name in ("type", "machine", "version", "shoff", "flags", "ehsize", "shentsize", "shnum", "shstrndx")
]
FIELDS = [field for field in fields() if field[2] != "16s"]


@PERSONALITIES
@pytest.mark.parametrize(("name", "at", "form"), FIELDS, ids=[name for name, _, _ in FIELDS])
def test_every_number_in_every_field(execs, tried, personality, name, at, form):
    never_read = name in NEVER_READ or name.endswith(("paddr", "align"))
    for number in NUMBERS[::8] if never_read else NUMBERS:
        tried()
        loaded = execs(personality).attempt(patched(GOOD, at, form, number))
        assert loaded or not never_read


@PERSONALITIES
@pytest.mark.parametrize(("first", "second"), [*combinations(("offset", "vaddr", "filesz", "memsz"), 2)])
def test_two_fields_of_a_segment_at_once(execs, tried, personality, first, second):
    places = {name.partition(".")[2]: (at, form) for name, at, form in FIELDS if name.startswith("phdr1.")}
    some = (0, PGSIZE, 2 * PGSIZE, 3 * PGSIZE, 1 << 63, U64 - PGSIZE + 1, U64)
    for one in some:
        for other in some:
            tried()
            content = patched(patched(GOOD, *places[first], one), *places[second], other)
            execs(personality).attempt(content)


@PERSONALITIES
def test_a_file_cut_at_any_length(execs, tried, personality):
    edges = {page * PGSIZE + offset for page in range(5) for offset in (-1, 0, 1)}
    for length in sorted({*range(0, 64 + 3 * 56 + 2, 3), *edges} & set(range(len(GOOD) + 1))):
        tried()
        loaded = execs(personality).attempt(GOOD[:length])
        assert loaded == (length > 3 * PGSIZE + 3)


@PERSONALITIES
@pytest.mark.parametrize("magic", [b"\x7fELE", b"#!sh", b"\0\0\0\0", b"\x7felf", b"ELF\x7f"])
def test_another_magic_number(execs, personality, magic):
    assert not execs(personality).attempt(magic + GOOD[4:])


@PERSONALITIES
def test_the_other_bytes_of_the_ident_are_not_looked_at(execs, personality):
    for at in range(4, 16):
        assert execs(personality).attempt(GOOD[:at] + b"\xff" + GOOD[at + 1 :])


def rows(count, row, length=0):
    """A file of ``count`` equal program headers."""
    head = patched(patched(elf_file()[:64], 56, "H", count), 32, "Q", 64)
    return (head + ROW.pack(*row) * count).ljust(length, b"\x01")


NOTHING = (0, 5, 1 << 63, 1 << 63, 0, 1 << 63, 1 << 63, 0)
EMPTY = (1, 5, 1 << 63, 1 << 63, 0, 1 << 63, 0, 0)
PAGE = (1, 5, 0, PGSIZE, 0, PGSIZE, PGSIZE, 0)
BSS = (1, 6, 0, 0, 0, 0, PGSIZE, 0)


@pytest.mark.parametrize(("row", "loads"), [(NOTHING, True), (PAGE, False)])
def test_65535_program_headers(tried, row, loads):
    execs = Exec(NEXOS)
    tried()
    assert execs.attempt(rows(0xFFFF, row)) == loads


@pytest.mark.parametrize(("row", "loads"), [(NOTHING, True), (EMPTY, True), (PAGE, True), (BSS, True)])
def test_as_many_program_headers_as_an_xv6_file_holds(tried, row, loads):
    """4,800 of them; where each names the whole file, its text is searched for counter reads once."""
    execs = Exec(XV6)
    whole = (*row[:5], 268 << 10, 268 << 10, 0) if row is PAGE else row
    tried()
    assert execs.attempt(rows(4800, whole, length=268 << 10)) == loads


@PERSONALITIES
def test_a_segment_may_be_written_and_executed(execs, personality):
    """xv6's forktest is one such segment, and nothing forbids it elsewhere."""
    assert execs(personality).attempt(elf_file(Segment(0, b"\x01\xa0", flags=7)))


@PERSONALITIES
@pytest.mark.parametrize("offset", [8, PGSIZE - 8, PGSIZE + 2])
def test_an_unaligned_place_in_the_file(execs, personality, offset):
    """NexOS refuses it; xv6 does not mind."""
    content = elf_file(Segment(0, b"x" * 3 * PGSIZE, offset=offset, filesz=PGSIZE, memsz=PGSIZE))
    assert execs(personality).attempt(content) == (personality is XV6)


@PERSONALITIES
@pytest.mark.parametrize("second", [0, PGSIZE, 2 * PGSIZE, 3 * PGSIZE, 9 * PGSIZE])
@pytest.mark.parametrize("size", [1, PGSIZE, PGSIZE + 1, 2 * PGSIZE])
def test_two_segments_anywhere(execs, tried, personality, second, size):
    """Overlapping, adjacent, apart, and in either order."""
    one, two = Segment(PGSIZE, b"1" * 2 * PGSIZE, flags=5), Segment(second, b"2" * size, flags=6)
    for pair in ((one, two), (two, one)):
        tried()
        execs(personality).attempt(elf_file(*pair))


@PERSONALITIES
def test_a_program_for_which_there_is_just_enough_memory_or_just_not(tried, personality):
    """It grows page by page until it no longer fits; what fitted shows that the count is exact."""
    execs = Exec(personality, pages=100)
    loaded = []
    for pages in range(60, 95):
        tried()
        loaded.append(execs.attempt(elf_file(Segment(0, memsz=pages * PGSIZE))))
    assert loaded == sorted(loaded, reverse=True)
    assert set(loaded) == {True, False}


# ---- arguments and names ------------------------------------------------------------------------


@PERSONALITIES
@pytest.mark.parametrize(("count", "answer"), [(0, 0), (1, 1), (31, 31), (32, -1), (33, -1), (400, -1)])
def test_at_most_31_arguments(personality, count, answer):
    """MAXARG is 32, the NULL included; the array is not read any further."""
    gate = Gate(personality, files={b"/a": GOOD})
    proc = gate.spawn(*CALLER)
    argv = PGSIZE + 512
    poke(proc.space, argv, PATH_TOO.to_bytes(8, "little") * count + bytes(8))
    poke(proc.space, PATH_TOO, b"/a\0")
    assert gate.call(proc, "exec", PATH, argv) == answer
    gate.restore()


@PERSONALITIES
@pytest.mark.parametrize(
    ("path", "name"),
    [(b"/plain", "plain"), (b"//deep//er/x", "x"), (b"/\x1b[2J\nx", "?[2J?x"), (b"/\xff\xfe", "\ufffd" * 2)],
)
def test_a_process_has_a_name_that_stands_in_one_line(personality, path, name):
    """What the kernel says of a process goes to somebody's terminal."""
    gate = Gate(personality)
    for directory in (b"/deep", b"/deep/er"):
        gate.put(directory, None)
    gate.put(path, GOOD)
    proc = gate.spawn(*CALLER)
    poke(proc.space, PGSIZE, path + b"\0")
    assert gate.call(proc, "exec", PGSIZE, NO_ARGUMENTS) == 0
    assert proc.name == name
    assert all(line.isprintable() for line in gate.procs.listing().splitlines())
    gate.end_processes()


# ---- a real program, damaged -------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(guests):
    return (guests / "echo").read_bytes()


@PERSONALITIES
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_real_program_with_bytes_changed(execs, real, tried, personality, data):
    headers = 64 + 56 * HEADER.unpack_from(real)[10]
    place = st.one_of(st.integers(0, headers - 1), st.integers(0, len(real) - 1))
    content = bytearray(real)
    for at, byte in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=8)):
        content[at] = byte
    length = data.draw(st.one_of(st.just(len(real)), st.integers(0, len(real))))
    tried()
    execs(personality).attempt(bytes(content[:length]))
