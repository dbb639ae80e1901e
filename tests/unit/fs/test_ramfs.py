"""What the calls that take a path do, and how each of them can fail."""

import struct

import pytest

from nexemu.abi import T_DEVICE, T_DIR, T_FILE
from nexemu.errors import BadFile, KernelPanic
from nexemu.fs.ramfs import RamFs


@pytest.fixture
def fs():
    """``/file`` holds "data"; ``/dir`` holds the empty ``/dir/sub`` and an empty ``/dir/leaf``."""
    fs = RamFs()
    fs.mkdir(b"/dir", fs.root)
    fs.mkdir(b"/dir/sub", fs.root)
    fs.create(b"/dir/leaf", T_FILE, fs.root)
    fs.writei(fs.create(b"/file", T_FILE, fs.root), 0, b"data")
    yield fs
    fs.audit([])


def listing(directory):
    """The entries as a program reads them: (inum, name) pairs."""
    raw = bytes(directory.readi(0, directory.size))
    return [(inum, name.rstrip(b"\0")) for inum, name in struct.iter_unpack("<H14s", raw)]


# ---- paths ------------------------------------------------------------------------------------


def test_a_new_file_system_has_dot_and_dotdot_in_its_root():
    fs = RamFs()
    assert listing(fs.root) == [(1, b"."), (1, b"..")]
    assert fs.root.nlink == 1
    assert fs.inodes.capacity == 65536 * 16384
    with pytest.raises(KernelPanic, match="inode 1 has 0 references, 1 hold it"):
        fs.audit([fs.root])


@pytest.mark.parametrize(
    ("path", "same_as"),
    [
        (b"/", b"/"),
        (b"", b"/dir"),
        (b".", b"/dir"),
        (b"..", b"/"),
        (b"../..", b"/"),
        (b"/..", b"/"),
        (b"sub", b"/dir/sub"),
        (b"sub/", b"/dir/sub"),
        (b"//dir///sub//", b"/dir/sub"),
        (b"./sub/../leaf", b"/dir/leaf"),
        (b"leaf/", b"/dir/leaf"),
        (b"/file", b"/file"),
    ],
)
def test_paths_lead_from_the_root_or_from_the_working_directory(fs, path, same_as):
    cwd = fs.namei(b"/dir", fs.root)
    assert fs.namei(path, cwd) is fs.namei(same_as, fs.root)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (b"/none", "/none: there is no none"),
        (b"/none/x", "there is no none"),
        (b"/file/x", "not a directory before x"),
        (b"/file/..", "not a directory"),
        (b"\xff", r"\\xff: there is no"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(fs, path, message):
    with pytest.raises(BadFile, match=message):
        fs.namei(path, fs.root)


def test_names_are_cut_to_14_bytes(fs):
    fs.create(b"/abcdefghijklmnop", T_FILE, fs.root)
    assert listing(fs.root)[-1][1] == b"abcdefghijklmn"
    assert fs.namei(b"abcdefghijklmn", fs.root) is fs.namei(b"abcdefghijklmnXYZ", fs.root)
    with pytest.raises(BadFile):
        fs.namei(b"abcdefghijklm", fs.root)


def test_nameiparent_gives_the_directory_and_the_last_name(fs):
    assert fs.nameiparent(b"/dir/new", fs.root) == (fs.namei(b"/dir", fs.root), b"new")


@pytest.mark.parametrize("path", [b"", b"/", b"//", b"/file/x", b"/none/x"])
def test_nameiparent_needs_a_name_in_a_directory(fs, path):
    with pytest.raises(BadFile):
        fs.nameiparent(path, fs.root)


# ---- create, mkdir, mknod ---------------------------------------------------------------------


def test_a_directory_lists_its_entries_in_the_order_of_creation(fs):
    assert listing(fs.root) == [(1, b"."), (1, b".."), (2, b"dir"), (5, b"file")]
    assert listing(fs.namei(b"/dir", fs.root)) == [(2, b"."), (1, b".."), (3, b"sub"), (4, b"leaf")]


def test_the_slot_of_a_deleted_entry_keeps_its_place_and_is_used_again(fs):
    fs.unlink(b"/dir/sub", fs.root)
    directory = fs.namei(b"/dir", fs.root)
    assert listing(directory) == [(2, b"."), (1, b".."), (0, b""), (4, b"leaf")]
    fs.create(b"/dir/new", T_FILE, fs.root)
    assert listing(directory) == [(2, b"."), (1, b".."), (3, b"new"), (4, b"leaf")]
    assert directory.size == 64


def test_a_new_file_is_empty_and_no_device(fs):
    inode = fs.create(b"/new", T_FILE, fs.root)
    assert (inode.type, inode.major, inode.minor, inode.nlink, inode.size) == (T_FILE, 0, 0, 1, 0)
    assert fs.namei(b"/new", fs.root) is inode


def test_creating_a_file_that_exists_gives_that_file(fs):
    assert fs.create(b"/file", T_FILE, fs.root) is fs.namei(b"/file", fs.root)
    assert bytes(fs.namei(b"/file", fs.root).readi(0, 9)) == b"data"


def test_creating_a_file_where_a_device_is_gives_the_device(fs):
    fs.mknod(b"/tty", 1, 2, fs.root)
    device = fs.create(b"/tty", T_FILE, fs.root)
    assert (device.type, device.major, device.minor) == (T_DEVICE, 1, 2)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (b"/dir", T_FILE),
        (b"/dir", T_DIR),
        (b"/file", T_DIR),
        (b"/file", T_DEVICE),
        (b"/", T_DIR),
        (b".", T_FILE),
        (b"..", T_DIR),
        (b"", T_FILE),
        (b"/none/x", T_FILE),
        (b"/file/x", T_DIR),
    ],
)
def test_create_refuses_and_changes_nothing(fs, path, kind):
    before = listing(fs.root), listing(fs.namei(b"/dir", fs.root))
    with pytest.raises(BadFile):
        fs.create(path, kind, fs.root)
    assert (listing(fs.root), listing(fs.namei(b"/dir", fs.root))) == before


def test_nlink_of_a_directory_counts_itself_and_its_subdirectories(fs):
    assert [fs.namei(path, fs.root).nlink for path in (b"/", b"/dir", b"/dir/sub")] == [2, 2, 1]
    fs.unlink(b"/dir/sub", fs.root)
    assert fs.namei(b"/dir", fs.root).nlink == 1


def test_a_directory_can_have_32767_links_and_no_more(fs):
    fs.root.nlink = 0x7FFF
    with pytest.raises(BadFile, match="32767 names"):
        fs.mkdir(b"/new", fs.root)
    fs.create(b"/new", T_FILE, fs.root)
    fs.namei(b"/new", fs.root).nlink = 0x7FFF
    with pytest.raises(BadFile, match="32767 names"):
        fs.link(b"/new", b"/other", fs.root)


def test_a_full_file_system_undoes_a_create():
    fs = RamFs(capacity=32 + 16 + 32)
    fs.mkdir(b"/a", fs.root)
    for kind in (T_FILE, T_DIR):
        with pytest.raises(BadFile, match="no space"):
            fs.create(b"/b", kind, fs.root)
        assert listing(fs.root) == [(1, b"."), (1, b".."), (2, b"a")]
        assert fs.root.nlink == 2
        fs.audit([])
    fs.unlink(b"/a", fs.root)
    assert fs.create(b"/b", T_FILE, fs.root).inum == 2


def test_create_needs_room_for_one_more_inode_in_use():
    fs = RamFs(ninode=2)
    held = [fs.idup(fs.root), fs.idup(fs.create(b"/a", T_FILE, fs.root))]
    with pytest.raises(BadFile, match="no more than 2 inodes"):
        fs.create(b"/b", T_FILE, fs.root)
    assert len(listing(fs.root)) == 3
    assert fs.create(b"/a", T_FILE, fs.root) is held[1]
    fs.audit(held)


# ---- link and unlink --------------------------------------------------------------------------


def test_a_second_name_is_the_same_file(fs):
    fs.link(b"/file", b"/dir/again", fs.root)
    inode = fs.namei(b"/dir/again", fs.root)
    assert inode is fs.namei(b"/file", fs.root)
    assert inode.nlink == 2
    fs.unlink(b"/file", fs.root)
    assert inode.nlink == 1
    assert bytes(fs.namei(b"/dir/again", fs.root).readi(0, 9)) == b"data"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"/none", b"/x", "there is no none"),
        (b"/dir", b"/x", "a directory has one name only"),
        (b"/file", b"/file", "exists"),
        (b"/file", b"/dir", "exists"),
        (b"/file", b"", "no name"),
        (b"/file", b"/none/x", "there is no none"),
    ],
)
def test_link_refuses(fs, old, new, message):
    with pytest.raises(BadFile, match=message):
        fs.link(old, new, fs.root)
    assert fs.namei(b"/file", fs.root).nlink == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (b".", "cannot be removed"),
        (b"/dir/..", "cannot be removed"),
        (b"/dir/sub/.", "cannot be removed"),
        (b"/", "no name"),
        (b"/dir", "not empty"),
        (b"/none", "there is no none"),
        (b"/file/x", "not a directory"),
    ],
)
def test_unlink_refuses(fs, path, message):
    with pytest.raises(BadFile, match=message):
        fs.unlink(path, fs.root)
    assert fs.namei(b"/dir", fs.root).nlink == 2


def test_an_emptied_directory_can_be_removed(fs):
    for path in (b"/dir/leaf", b"/dir/sub", b"/dir"):
        fs.unlink(path, fs.root)
    assert listing(fs.root) == [(1, b"."), (1, b".."), (0, b""), (5, b"file")]
    assert fs.root.nlink == 1


def test_an_unlinked_file_lives_until_its_last_holder_goes(fs):
    inode = fs.idup(fs.namei(b"/file", fs.root))
    fs.unlink(b"/file", fs.root)
    fs.writei(inode, 4, b"+more")
    assert bytes(inode.readi(0, 99)) == b"data+more"
    assert fs.create(b"/other", T_FILE, fs.root).inum != inode.inum
    fs.iput(inode)
    assert fs.create(b"/third", T_FILE, fs.root).inum == inode.inum


# ---- working directories ----------------------------------------------------------------------


def test_chdir_moves_the_reference(fs):
    cwd = fs.idup(fs.root)
    cwd = fs.chdir(b"dir", cwd)
    assert cwd is fs.namei(b"/dir", fs.root)
    fs.audit([cwd])
    cwd = fs.chdir(b".", cwd)
    fs.audit([cwd])
    fs.iput(cwd)


@pytest.mark.parametrize("path", [b"/file", b"/none"])
def test_a_failed_chdir_stays(fs, path):
    cwd = fs.idup(fs.root)
    with pytest.raises(BadFile):
        fs.chdir(path, cwd)
    fs.audit([cwd])
    fs.iput(cwd)


def test_a_removed_working_directory_still_leads_up_and_takes_nothing_new(fs):
    cwd = fs.chdir(b"/dir/sub", fs.idup(fs.root))
    fs.unlink(b"../sub", cwd)
    assert fs.namei(b".", cwd) is cwd
    assert fs.namei(b"../leaf", cwd) is fs.namei(b"/dir/leaf", fs.root)
    for attempt in (
        lambda: fs.create(b"new", T_FILE, cwd),
        lambda: fs.mkdir(b"new", cwd),
        lambda: fs.link(b"/file", b"new", cwd),
    ):
        with pytest.raises(BadFile, match="its directory was removed"):
            attempt()
    fs.iput(fs.chdir(b"..", cwd))


def test_a_chain_of_removed_directories_is_held_by_the_innermost(fs):
    cwd = fs.chdir(b"/dir/sub", fs.idup(fs.root))
    directory = fs.namei(b"/dir", fs.root)
    fs.unlink(b"/dir/leaf", fs.root)
    fs.unlink(b"/dir/sub", fs.root)
    fs.unlink(b"/dir", fs.root)
    fs.create(b"/in-its-place", T_FILE, fs.root)
    assert fs.namei(b"..", cwd) is directory
    assert fs.namei(b"../..", cwd) is fs.root
    fs.audit([cwd])
    assert fs.in_use == 3
    fs.iput(cwd)
    assert fs.in_use == 0


def test_removing_a_directory_in_use_needs_room_to_hold_its_parent():
    fs = RamFs(ninode=1)
    fs.mkdir(b"/a", fs.root)
    fs.mkdir(b"/a/b", fs.root)
    cwd = fs.idup(fs.namei(b"/a/b", fs.root))
    with pytest.raises(BadFile, match="no more than 1 inodes"):
        fs.unlink(b"/a/b", fs.root)
    assert fs.namei(b"/a/b", fs.root) is cwd
    assert cwd.nlink == 1
    fs.audit([cwd])


def test_removing_a_directory_that_nobody_uses_needs_no_room():
    fs = RamFs(ninode=1)
    fs.mkdir(b"/a", fs.root)
    fs.mkdir(b"/b", fs.root)
    cwd = fs.idup(fs.namei(b"/b", fs.root))
    fs.unlink(b"/a", fs.root)
    fs.audit([cwd])
