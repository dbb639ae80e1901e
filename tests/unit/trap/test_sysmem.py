"""The system calls of memory, called directly: ABI.md sections 4, 6 and 8."""

import struct

import pytest
from support import DATA, Machine, Segment, elf_file, peek, pte

from nexemu import abi
from nexemu.errors import BadAddress, BadCall, BadFile, OutOfMemory
from nexemu.mem.usercopy import copyin, copyout
from nexemu.proc.exec import load
from nexemu.riscv import PGSIZE, PTE_W, Access
from nexemu.trap.sysmem import sys_memstat, sys_mmap, sys_munmap, sys_sbrk

TRAPFRAME = 0x3F_FFFF_E000
READ, WRITE, EXEC, PRIVATE, ANON = 1, 2, 4, 1, 2
PROGRAM = elf_file(Segment(0, b"text", flags=5), Segment(DATA, b"data", flags=6))
TOP = DATA + 3 * PGSIZE


class Caller:
    """A process, and the calls as it would make them."""

    def __init__(self, run):
        self.kernel = kernel = run.kernel
        space = kernel.procs.new_space()
        load(space, memoryview(PROGRAM), [], kernel.options.personality)
        self.proc = kernel.procs.create("init", space, kernel.fs.idup(kernel.fs.root))
        self.space = space

    @property
    def free(self):
        return self.kernel.frames.free_frames

    def mmap(self, length, prot=READ, flags=PRIVATE | ANON, fd=-1, offset=0, addr=0):
        return sys_mmap(self.kernel.machine, self.proc, addr, length, prot, flags, fd, offset)

    def munmap(self, addr, length):
        return sys_munmap(self.kernel.machine, self.proc, addr, length)

    def sbrk(self, n):
        return sys_sbrk(self.kernel.machine, self.proc, n)

    def open(self, content, mode=abi.O_RDONLY, path=b"/file"):
        fs = self.kernel.fs
        fs.writei(fs.create(path, abi.T_FILE, fs.root), 0, content)
        fd = self.proc.files.index(None)
        self.proc.files[fd] = self.kernel.files.open(path, mode, fs.root)
        return fd

    def close(self, fd):
        self.kernel.procs.close(self.proc.files[fd])
        self.proc.files[fd] = None

    def touch(self, va, access=Access.READ):
        return self.space.translate(va, access)

    def memstat(self):
        sys_memstat(self.kernel.machine, self.proc, DATA)
        return struct.unpack("<iiii", copyin(self.space, DATA, 16))


@pytest.fixture
def caller(switches):
    caller = Caller(Machine(b"").build(memory=8 << 20, **switches))
    yield caller
    caller.kernel.audit()
    caller.kernel.procs.exit(caller.proc, 0)
    caller.kernel.procs.reap(caller.proc)
    assert caller.kernel.frames.used_frames == 1
    assert (caller.kernel.files.in_use, caller.kernel.fs.in_use) == (0, 0)


# ---- mmap -------------------------------------------------------------------------------------


def test_areas_go_down_from_the_trapframe_and_map_nothing(caller):
    before = caller.free
    assert caller.mmap(1) == TRAPFRAME - PGSIZE
    assert caller.mmap(PGSIZE + 1) == TRAPFRAME - 3 * PGSIZE
    assert caller.mmap(PGSIZE) == TRAPFRAME - 4 * PGSIZE
    assert caller.free == before


def test_a_gap_that_munmap_left_is_used_again_the_highest_first(caller):
    first, second, third = (caller.mmap(2 * PGSIZE) for _ in range(3))
    caller.munmap(second, 2 * PGSIZE)
    assert caller.mmap(3 * PGSIZE) == third - 3 * PGSIZE
    assert caller.mmap(PGSIZE) == second + PGSIZE
    caller.munmap(first, PGSIZE)
    assert caller.mmap(PGSIZE) == first


@pytest.mark.parametrize(
    "wrong",
    [
        {"addr": TRAPFRAME - PGSIZE},
        {"length": 0},
        {"prot": 0},
        {"prot": EXEC},
        {"prot": READ | EXEC},
        {"prot": READ | WRITE | 8},
        {"prot": -1},
        {"flags": 0},
        {"flags": ANON},
        {"flags": PRIVATE | ANON | 4},
        {"flags": -1},
        {"offset": 1},
        {"offset": PGSIZE - 1},
        {"length": 1 << 38},
        {"length": (1 << 64) - 1},
        {"length": TRAPFRAME},
    ],
)
def test_a_wrong_argument_is_refused(caller, wrong):
    with pytest.raises(BadCall):
        caller.mmap(**{"length": PGSIZE, **wrong})
    assert caller.space.areas == []


@pytest.mark.parametrize("prot", [READ, WRITE, READ | WRITE])
@pytest.mark.parametrize("fd", [-1, 0, 99])
def test_anonymous_memory_ignores_the_descriptor(caller, prot, fd):
    assert caller.mmap(PGSIZE, prot, fd=fd) == TRAPFRAME - PGSIZE


def test_an_area_may_reach_down_to_the_break_and_growth_then_ends_there(caller):
    size = TRAPFRAME - TOP
    assert caller.mmap(size) == TOP
    with pytest.raises(BadCall):
        caller.mmap(1)
    with pytest.raises(BadCall):
        caller.sbrk(1)
    assert caller.sbrk(0) == TOP
    caller.munmap(TOP, PGSIZE)
    caller.sbrk(PGSIZE)
    with pytest.raises(BadCall):
        caller.sbrk(1)


def test_an_area_keeps_clear_of_the_breaks_last_page(caller):
    caller.sbrk(1)
    with pytest.raises(BadCall):
        caller.mmap(TRAPFRAME - TOP)
    assert caller.mmap(TRAPFRAME - TOP - PGSIZE) == TOP + PGSIZE


def test_sixteen_areas_are_the_most(caller):
    areas = [caller.mmap(1) for _ in range(16)]
    with pytest.raises(BadCall, match="16 areas"):
        caller.mmap(1)
    caller.munmap(areas[3], 1)
    caller.mmap(1)


# ---- files ------------------------------------------------------------------------------------


def test_a_mapping_keeps_the_file_beyond_close_and_unlink(caller):
    fd = caller.open(b"f" * 5000)
    area = caller.mmap(5000, flags=PRIVATE, fd=fd)
    caller.close(fd)
    caller.kernel.fs.unlink(b"/file", caller.kernel.fs.root)
    caller.kernel.audit()
    caller.touch(area + PGSIZE)
    assert peek(caller.space, area + PGSIZE, PGSIZE) == b"f" * 904 + bytes(PGSIZE - 904)
    caller.munmap(area, 5000)
    assert (caller.kernel.files.in_use, caller.kernel.fs.in_use) == (0, 1)


def test_a_file_that_grows_later_shows_up_to_the_areas_length(caller):
    fd = caller.open(b"a" * 10)
    area = caller.mmap(20, flags=PRIVATE, fd=fd)
    fs = caller.kernel.fs
    fs.writei(fs.namei(b"/file", fs.root), 10, b"b" * 90)
    caller.touch(area)
    assert peek(caller.space, area, 30) == b"a" * 10 + b"b" * 10 + bytes(10)


def test_a_directory_can_be_mapped_for_reading(caller):
    caller.proc.files[5] = caller.kernel.files.open(b"/", abi.O_RDONLY, caller.kernel.fs.root)
    area = caller.mmap(32, flags=PRIVATE, fd=5)
    caller.touch(area)
    assert peek(caller.space, area + 2, 1) == b"."
    assert peek(caller.space, area + 18, 2) == b".."


@pytest.mark.parametrize("prot", [WRITE, READ | WRITE])
def test_a_file_cannot_be_mapped_writable(caller, prot):
    fd = caller.open(b"x", abi.O_RDWR)
    with pytest.raises(BadCall):
        caller.mmap(1, prot, flags=PRIVATE, fd=fd)
    caller.kernel.audit()


def test_only_an_open_readable_file_can_be_mapped(caller):
    written = caller.open(b"x", abi.O_WRONLY)
    caller.proc.files[6] = caller.kernel.files.console()
    for fd in (-1, 16, 9, written, 6):
        with pytest.raises(BadFile):
            caller.mmap(1, flags=PRIVATE, fd=fd)
    assert caller.space.areas == []


# ---- munmap -----------------------------------------------------------------------------------


@pytest.fixture
def five(caller):
    """Five pages, all touched."""
    area = caller.mmap(5 * PGSIZE, READ | WRITE)
    for page in range(5):
        caller.touch(area + page * PGSIZE, Access.WRITE)
    return area


@pytest.mark.parametrize(
    ("first", "length", "left"),
    [
        (0, PGSIZE, [1, 2, 3, 4]),
        (0, 1, [1, 2, 3, 4]),
        (0, 2 * PGSIZE + 1, [3, 4]),
        (4, PGSIZE, [0, 1, 2, 3]),
        (2, 3 * PGSIZE, [0, 1]),
        (0, 5 * PGSIZE, []),
        (0, 4 * PGSIZE + 1, []),
    ],
)
def test_the_front_the_back_or_all_goes_with_its_frames(caller, five, first, length, left):
    before = caller.free
    epoch = caller.space.epoch
    assert caller.munmap(five + first * PGSIZE, length) == 0
    assert caller.free - before == 5 - len(left)
    assert [page for page in range(5) if pte(caller.space, five + page * PGSIZE)] == left
    assert caller.space.epoch > epoch
    assert len(caller.space.areas) == bool(left)


@pytest.mark.parametrize(
    ("offset", "length"),
    [
        (PGSIZE, PGSIZE),
        (PGSIZE, 3 * PGSIZE),
        (8, PGSIZE),
        (PGSIZE - 1, 1),
        (0, 0),
        (0, 5 * PGSIZE + 1),
        (4 * PGSIZE, 2 * PGSIZE),
        (-PGSIZE, PGSIZE),
        (-PGSIZE, 2 * PGSIZE),
        (5 * PGSIZE, PGSIZE),
        (0, (1 << 64) - PGSIZE),
        (0, (1 << 64) - 1),
        (PGSIZE, (1 << 64) - PGSIZE),
    ],
)
def test_what_is_not_one_areas_front_or_back_is_refused(caller, five, offset, length):
    before = caller.free
    with pytest.raises(BadCall):
        caller.munmap(five + offset, length)
    assert caller.free == before
    assert caller.space.area_at(five + 2 * PGSIZE).length == 5 * PGSIZE


def test_a_range_over_two_neighbouring_areas_is_refused(caller, five):
    below = caller.mmap(PGSIZE)
    assert below == five - PGSIZE
    with pytest.raises(BadCall):
        caller.munmap(below, 2 * PGSIZE)


@pytest.mark.parametrize(
    "address", [0, DATA, TOP - PGSIZE, TRAPFRAME, TRAPFRAME + PGSIZE, 1 << 38, (1 << 64) - PGSIZE]
)
def test_only_areas_can_be_unmapped(caller, address):
    with pytest.raises(BadCall):
        caller.munmap(address, PGSIZE)


def test_after_munmap_the_page_is_gone_and_a_new_area_there_reads_zero(caller, five):
    copyout(caller.space, five, b"secret")
    caller.munmap(five, 5 * PGSIZE)
    with pytest.raises(BadAddress):
        caller.touch(five)
    assert caller.mmap(5 * PGSIZE) == five
    caller.touch(five)
    assert peek(caller.space, five, PGSIZE) == bytes(PGSIZE)


# ---- memstat ----------------------------------------------------------------------------------


def test_memstat_counts_frames_mapped_pages_and_the_size(caller):
    frames = caller.kernel.frames
    assert caller.memstat() == (frames.free_frames, frames.used_frames, 3, TOP // PGSIZE)
    assert frames.free_frames + frames.used_frames == (8 << 20) // PGSIZE - 256


def test_the_size_is_rounded_up_and_the_guard_is_not_mapped(caller):
    caller.sbrk(1)
    lazy = caller.space.paging.lazy
    assert caller.memstat()[2:] == (3 if lazy else 4, TOP // PGSIZE + 1)
    caller.touch(TOP, Access.WRITE)
    assert caller.memstat()[2] == 4


def test_a_page_that_the_store_of_memstat_itself_maps_shows_in_the_next_call(caller):
    caller.sbrk(PGSIZE)
    sys_memstat(caller.kernel.machine, caller.proc, TOP)
    first = struct.unpack("<iiii", copyin(caller.space, TOP, 16))
    second = caller.memstat()
    mapped = 1 if caller.space.paging.lazy else 0
    assert second[2] - first[2] == mapped
    assert first[0] - second[0] == mapped


def test_areas_are_used_but_not_mapped_below_the_break(caller, five):
    before = caller.memstat()
    caller.munmap(five, PGSIZE)
    after = caller.memstat()
    assert after[2:] == before[2:]
    assert before[1] - after[1] == 1


@pytest.mark.parametrize("address", [0, TOP - 2 * PGSIZE, TOP, 1 << 63])
def test_memstat_into_a_bad_address_fails(caller, address):
    with pytest.raises(BadAddress):
        sys_memstat(caller.kernel.machine, caller.proc, address)


# ---- fork with areas --------------------------------------------------------------------------


def test_a_forks_areas_are_copied_at_once_whatever_the_switches(caller, five):
    before = caller.free
    child = caller.kernel.procs.fork(caller.proc)
    assert not any(pte(child.space, five + page * PGSIZE) & PTE_W == 0 for page in range(5))
    assert before - caller.free >= 5
    copyout(child.space, five, b"child")
    assert peek(caller.space, five, 5) == bytes(5)
    caller.kernel.procs.exit(child, 0)
    caller.kernel.procs.reap(child)
    assert caller.free == before


def test_a_mapped_file_is_held_by_parent_and_child(caller):
    fd = caller.open(b"data")
    caller.mmap(4, flags=PRIVATE, fd=fd)
    caller.close(fd)
    child = caller.kernel.procs.fork(caller.proc)
    caller.kernel.audit()
    caller.kernel.procs.exit(child, 0)
    caller.kernel.audit()  # the zombie still holds it
    caller.kernel.procs.reap(child)
    assert caller.kernel.files.in_use == 1


def test_eager_sbrk_out_of_memory(caller):
    if caller.space.paging.lazy:
        assert caller.sbrk(16 << 20) == TOP
    else:
        before = caller.free
        with pytest.raises(OutOfMemory):
            caller.sbrk(16 << 20)
        assert caller.sbrk(0) == TOP
        assert before - caller.free <= 8, "page-table pages may stay"
