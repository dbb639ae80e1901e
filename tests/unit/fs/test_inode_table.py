"""Inode numbers, reference counts and the space that files take."""

import struct

import pytest

from nexemu.abi import T_DEVICE, T_DIR, T_FILE
from nexemu.errors import BadFile, KernelPanic
from nexemu.fs.content import Content
from nexemu.fs.inode_table import MAX_INUM, InodeTable


@pytest.fixture
def inodes():
    return InodeTable(ninode=3, capacity=100)


def named(inodes, kind=T_FILE):
    inode = inodes.ialloc(kind)
    inode.nlink = 1
    return inode


def test_the_root_is_inode_1_a_directory(inodes):
    assert inodes.root.inum == 1
    assert inodes.root.is_dir
    assert inodes.at(1) is inodes.root


def test_the_lowest_free_number_is_given(inodes):
    files = [named(inodes) for _ in range(4)]
    assert [file.inum for file in files] == [2, 3, 4, 5]
    for file in (files[2], files[0]):
        file.nlink = 0
        inodes.reap(file)
    assert [named(inodes).inum for _ in range(3)] == [2, 4, 6]


def test_numbers_run_out_at_16_bits():
    inodes = InodeTable(ninode=1, capacity=0)
    for _ in range(MAX_INUM - 1):
        last = inodes.ialloc(T_FILE)
    assert last.inum == 65535
    with pytest.raises(BadFile, match="65535 inode numbers"):
        inodes.ialloc(T_FILE)


def test_a_disk_may_have_fewer_inodes():
    inodes = InodeTable(ninode=1, capacity=0, most=3)
    file, _ = named(inodes), named(inodes)
    with pytest.raises(BadFile, match="all 3 inode numbers"):
        inodes.ialloc(T_FILE)
    file.nlink = 0
    inodes.reap(file)
    assert inodes.ialloc(T_FILE).inum == 2


def test_stat_has_the_layout_of_struct_stat(inodes):
    inode = named(inodes)
    inode.nlink = 3
    inodes.writei(inode, 0, b"12345")
    assert inode.stat() == struct.pack("<iIhh4xQ", 0, 2, T_FILE, 3, 5)
    assert len(inode.stat()) == 24
    assert inodes.ialloc(T_DEVICE, major=1).stat()[8:10] == b"\3\0"


def test_a_named_inode_stays_without_holders(inodes):
    inode = named(inodes)
    inodes.iput(inodes.idup(inode))
    assert inodes.at(inode.inum) is inode


def test_a_nameless_inode_goes_with_its_last_holder(inodes):
    inode = named(inodes)
    inodes.writei(inode, 0, b"12345")
    inodes.idup(inodes.idup(inode))
    inode.nlink = 0
    inodes.reap(inode)
    inodes.iput(inode)
    assert inodes.at(inode.inum) is inode
    assert inodes.stored == 5
    inodes.iput(inode)
    assert inodes.stored == 0
    with pytest.raises(KernelPanic, match="names 2"):
        inodes.at(2)


def test_no_more_than_ninode_may_be_held(inodes):
    held = [inodes.idup(named(inodes)) for _ in range(3)]
    assert inodes.in_use == 3
    with pytest.raises(BadFile, match="no more than 3 inodes"):
        inodes.idup(named(inodes))
    inodes.idup(held[0])  # it is in use already, so it takes no room
    inodes.iput(held[1])
    assert inodes.in_use == 2
    inodes.idup(held[1])


def test_iput_without_a_holder_is_a_panic(inodes):
    with pytest.raises(KernelPanic, match="iput"):
        inodes.iput(named(inodes))


def test_a_write_may_not_leave_a_hole(inodes):
    inode = named(inodes)
    inodes.writei(inode, 0, b"123")
    assert inodes.writei(inode, 3, b"45") == 2
    with pytest.raises(BadFile, match="hole"):
        inodes.writei(inode, 6, b"x")
    assert bytes(inode.readi(0, 100)) == b"12345"


def test_the_capacity_bounds_all_files_together(inodes):
    first, second = named(inodes), named(inodes)
    inodes.writei(first, 0, bytes(60))
    with pytest.raises(BadFile, match="no space: files may store 100 bytes"):
        inodes.writei(second, 0, bytes(41))
    assert second.size == 0
    inodes.writei(second, 0, bytes(40))
    inodes.writei(first, 10, bytes(50))  # rewriting takes no space
    inodes.truncate(first)
    assert inodes.stored == 40


def test_one_file_may_be_bounded_too():
    inodes = InodeTable(ninode=1, capacity=100, file_capacity=10)
    inode = named(inodes)
    inodes.writei(inode, 0, bytes(8))
    with pytest.raises(BadFile, match="a file holds 10 bytes at the most"):
        inodes.writei(inode, 8, bytes(3))
    assert inode.size == 8
    inodes.writei(inode, 8, bytes(2))


def test_a_host_file_beyond_the_bound_can_be_rewritten_but_not_grow():
    inodes = InodeTable(ninode=1, capacity=100, file_capacity=10)
    inode = named(inodes)
    inodes.adopt(inode, Content(bytes(20)))
    inodes.writei(inode, 19, b"x")
    with pytest.raises(BadFile, match="a file holds 10 bytes"):
        inodes.writei(inode, 19, b"xy")


def test_host_bytes_count_from_their_first_write_on(inodes):
    inode = named(inodes)
    inodes.writei(inode, 0, b"replaced")
    inodes.adopt(inode, Content(bytes(90)))
    assert inode.size == 90
    assert inodes.stored == 0
    inodes.writei(inode, 89, b"12")
    assert inodes.stored == 91
    other = named(inodes)
    inodes.adopt(other, Content(bytes(10)))
    with pytest.raises(BadFile, match="no space"):
        inodes.writei(other, 0, b"1")


def test_writing_nothing_to_host_bytes_takes_no_space(inodes):
    inode = named(inodes)
    inodes.adopt(inode, Content(bytes(200)))
    assert inodes.writei(inode, 7, b"") == 0
    assert inodes.stored == 0
    with pytest.raises(BadFile, match="hole"):
        inodes.writei(inode, 201, b"")


def test_adopted_bytes_that_are_private_count_at_once(inodes):
    inode = named(inodes)
    content = Content()
    content.write(0, b"12345")
    inodes.adopt(inode, content)
    assert inodes.stored == 5
    inodes.audit([])


def test_audit_accepts_what_is_true(inodes):
    inode = named(inodes)
    inodes.idup(inodes.idup(inode))
    inodes.idup(inodes.root)
    inodes.audit([inode, inodes.root, inode])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda inodes, inode: setattr(inode, "ref", 2), "inode 2 has 2 references, 1 hold it"),
        (lambda inodes, inode: setattr(inodes.root, "ref", 1), "inode 1 has 1 references, 0 hold it"),
        (lambda inodes, inode: inodes.ialloc(T_DIR), "nothing refers to inode 3"),
        (lambda inodes, inode: setattr(inodes, "in_use", 2), "2 inodes are said to be in use"),
        (lambda inodes, inode: setattr(inodes, "stored", 7), "7 bytes are said to be stored"),
        (lambda inodes, inode: inodes._inodes.pop(2), r"\[2\] are held and do not exist"),
    ],
)
def test_audit_finds_each_kind_of_damage(inodes, damage, message):
    inode = inodes.idup(named(inodes))
    damage(inodes, inode)
    with pytest.raises(KernelPanic, match=message):
        inodes.audit([inode])
