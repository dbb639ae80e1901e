"""exec's image: pages, zeros, guard, stack, and the arguments to the byte. ABI.md section 2."""

import pytest
from support import Segment, elf_file, peek, pte, resident

from nexemu.errors import BadExecutable, OutOfMemory
from nexemu.mem.usercopy import copyin
from nexemu.personality import NEXOS, XV6
from nexemu.proc.exec import load
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_V, PTE_W, PTE_X

TEXT = Segment(0, bytes(range(256)) * 20, flags=5)  # 5,120 bytes: two pages
DATA = Segment(2 * PGSIZE, b"data!", memsz=PGSIZE + 10, flags=6)
GUARD, STACK, TOP = 4 * PGSIZE, 5 * PGSIZE, 6 * PGSIZE
"""Behind two pages of text and two of data."""


def start(space, *argv, content=None, personality=NEXOS):
    return load(space, memoryview(content or elf_file(TEXT, DATA, entry=64)), argv, personality)


# ---- the image --------------------------------------------------------------------------------


def test_the_image_is_text_data_guard_and_stack_and_the_break_is_the_stacks_top(space):
    image = start(space)
    assert (image.entry, image.argc, space.size) == (64, 0, TOP)
    assert [(leaf.va, leaf.pte & 0x1F) for leaf in space.table.leaves(0, 1 << 37)] == [
        (0, PTE_V | PTE_R | PTE_X | PTE_U),
        (PGSIZE, PTE_V | PTE_R | PTE_X | PTE_U),
        (2 * PGSIZE, PTE_V | PTE_R | PTE_W | PTE_U),
        (3 * PGSIZE, PTE_V | PTE_R | PTE_W | PTE_U),
        (GUARD, PTE_V | PTE_R | PTE_W),
        (STACK, PTE_V | PTE_R | PTE_W | PTE_U),
    ]
    assert resident(space) == 5, "the guard page is not the user's"


def test_the_files_bytes_are_where_they_belong_and_zeros_follow(space):
    start(space)
    assert copyin(space, 0, 2 * PGSIZE) == TEXT.data + bytes(2 * PGSIZE - 5120)
    assert copyin(space, 2 * PGSIZE, 2 * PGSIZE) == b"data!" + bytes(2 * PGSIZE - 5)


@pytest.mark.parametrize("lazy", [False, True])
def test_the_image_is_never_lazy(make_memory, lazy):
    memory = make_memory(lazy=lazy)
    before = memory.free
    space = memory.space()
    start(space)
    assert before - memory.free == 4 + 2 + 6, "a new space, the low region's tables, six pages"


def test_a_pure_bss_segment_is_zeros(space):
    start(space, content=elf_file(Segment(0, b"t", flags=5), Segment(PGSIZE, memsz=2 * PGSIZE, flags=6)))
    assert copyin(space, PGSIZE, 2 * PGSIZE) == bytes(2 * PGSIZE)


def test_segments_may_stand_in_any_order_and_far_apart(space):
    high = Segment(64 * PGSIZE, b"high", flags=6)
    start(space, content=elf_file(high, Segment(0, b"low", flags=5)))
    assert space.size == 67 * PGSIZE
    assert copyin(space, 64 * PGSIZE, 4) == b"high"
    assert not pte(space, 30 * PGSIZE)


def test_xv6_fills_the_gap_between_segments(space):
    high = Segment(4 * PGSIZE, b"high", flags=6)
    start(space, content=elf_file(Segment(0, b"low", flags=5), high), personality=XV6)
    assert copyin(space, 2 * PGSIZE, 4) == bytes(4)
    assert pte(space, 2 * PGSIZE) & (PTE_W | PTE_X) == PTE_W, "with the next segment's rights"


def test_new_code_makes_what_was_translated_stale(memory):
    for expected in (1, 2):
        space = memory.space()
        start(space)
        assert space.code_epoch == memory.frames.code_epoch == expected


def test_a_segment_that_leaves_no_room_for_the_stack_is_refused(space):
    """Below the trapframe, yet too high for two more pages."""
    top = Segment(0x3F_FFFF_E000 - 2 * PGSIZE, b"x")
    with pytest.raises(BadExecutable, match="stack"):
        start(space, content=elf_file(top))


@pytest.mark.parametrize("n", range(1, 9))
def test_running_out_at_any_page_or_table_leaves_a_space_that_can_be_freed(memory, n):
    before = memory.free
    space = memory.space()
    memory.frames.fail_at = n
    with pytest.raises(OutOfMemory):
        start(space, b"arg")
    memory.audit()
    memory.end(space)
    assert memory.free == before


def test_eight_allocations_are_all(memory):
    space = memory.space()
    memory.frames.fail_at = 9
    start(space, b"arg")
    memory.frames.fail_at = None


# ---- the arguments ----------------------------------------------------------------------------


def test_strings_go_from_the_top_down_then_the_array_all_aligned_to_16(space):
    image = start(space, b"echo", b"hi")
    assert image.argc == 2
    assert image.sp == TOP - 0x40
    expected = (
        (TOP - 0x10).to_bytes(8, "little")  # argv[0]
        + (TOP - 0x20).to_bytes(8, "little")  # argv[1]
        + bytes(16)  # argv[2] is NULL; the array takes 24 bytes of 32
        + b"hi".ljust(16, b"\0")
        + b"echo".ljust(16, b"\0")
    )
    assert peek(space, image.sp, 0x40) == expected


@pytest.mark.parametrize(
    ("argv", "strings", "sp"),
    [
        ([], [], 0x10),
        ([b""], [0x10], 0x20),
        ([b"x" * 15], [0x10], 0x20),
        ([b"x" * 16], [0x20], 0x30),
        ([b"a", b"b"], [0x10, 0x20], 0x40),
        ([b"a", b"b", b"c"], [0x10, 0x20, 0x30], 0x50),
        ([b"a" * 31, b"", b"c" * 17], [0x20, 0x30, 0x50], 0x70),
    ],
)
def test_where_each_string_and_the_array_lie(space, argv, strings, sp):
    image = start(space, *argv)
    assert image.sp == TOP - sp
    array = [TOP - at for at in strings] + [0]
    assert peek(space, image.sp, 8 * len(array)) == b"".join(at.to_bytes(8, "little") for at in array)
    for text, at in zip(argv, strings, strict=True):
        assert peek(space, TOP - at, len(text) + 1) == text + b"\0"


def test_31_arguments_are_the_most(space, memory):
    image = start(space, *[b"%d" % number for number in range(31)])
    assert image.argc == 31
    assert image.sp == TOP - 31 * 16 - 32 * 8
    with pytest.raises(BadExecutable, match="32 arguments"):
        start(memory.space(), *[b"x"] * 32)


def test_all_of_it_may_fill_the_stack_page_to_the_last_byte(space):
    image = start(space, *[b"y" * 127] * 30)  # 30 * 128 + 256 = 4096
    assert image.sp == STACK
    assert peek(space, STACK, 8) == (TOP - 128).to_bytes(8, "little")


@pytest.mark.parametrize(
    "argv", [[b"y" * 127] * 31, [b"y" * 127] * 29 + [b"y" * 128], [b"z" * 4095], [b"z" * 9999]]
)
def test_what_does_not_fit_the_stack_page_is_refused(space, argv):
    with pytest.raises(BadExecutable, match="do not fit"):
        start(space, *argv)


def test_the_guard_page_is_not_written_when_the_arguments_do_not_fit(space):
    with pytest.raises(BadExecutable):
        start(space, *[b"y" * 127] * 31)
    assert peek(space, GUARD, PGSIZE) == bytes(PGSIZE)
