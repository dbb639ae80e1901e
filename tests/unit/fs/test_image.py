"""Filling the file system from host folders: what arrives, what is left out, and what it costs."""

import os
from mmap import mmap

import pytest

from nexemu.abi import T_FILE
from nexemu.errors import OperatorError
from nexemu.fs.directory import entries
from nexemu.fs.image import MAP_FROM, load_tree
from nexemu.fs.ramfs import RamFs


@pytest.fixture
def fs():
    fs = RamFs()
    yield fs
    fs.audit([])


def content(fs, path):
    inode = fs.namei(path, fs.root)
    return bytes(inode.readi(0, inode.size))


def names(directory):
    return [entry.name for entry in entries(directory)][2:]


def test_files_and_folders_arrive_in_the_order_of_their_names(fs, tmp_path):
    (tmp_path / "b").write_bytes(b"bee")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "deep").write_bytes(b"")
    (tmp_path / "C").write_bytes(b"sea")
    assert load_tree(fs, tmp_path) == []
    assert names(fs.root) == [b"C", b"a", b"b"]
    assert content(fs, b"/b") == b"bee"
    assert fs.namei(b"/a/deep", fs.root).type == T_FILE


def test_a_later_folder_adds_and_replaces(fs, tmp_path):
    for folder in ("guests", "assets"):
        (tmp_path / folder / "etc").mkdir(parents=True)
        (tmp_path / folder / "sh").write_text(folder)
        (tmp_path / folder / "etc" / folder).write_text(folder)
    assert load_tree(fs, tmp_path / "guests") == []
    first = fs.namei(b"/sh", fs.root)
    assert load_tree(fs, tmp_path / "assets") == []
    assert names(fs.root) == [b"etc", b"sh"]
    assert names(fs.namei(b"/etc", fs.root)) == [b"guests", b"assets"]
    assert content(fs, b"/sh") == b"assets"
    assert fs.namei(b"/sh", fs.root) is first


def test_a_large_file_is_mapped_and_written_only_in_the_guest(fs, tmp_path):
    weights = tmp_path / "EMB.BIN"
    weights.write_bytes(bytes(MAP_FROM))
    load_tree(fs, tmp_path)
    inode = fs.namei(b"/EMB.BIN", fs.root)
    view = inode.readi(0, MAP_FROM)
    assert len(view) == MAP_FROM
    assert isinstance(view.obj, mmap)
    fs.writei(inode, 0, b"changed")
    assert content(fs, b"/EMB.BIN")[:8] == b"changed\0"
    assert weights.read_bytes() == bytes(MAP_FROM)
    assert fs.inodes.stored == 64 + MAP_FROM - 16  # two of the root's three entries are older


def test_a_small_file_may_change_on_the_host_afterwards(fs, tmp_path):
    (tmp_path / "sh").write_bytes(b"\x7fELF one")
    load_tree(fs, tmp_path)
    (tmp_path / "sh").write_bytes(b"")
    assert content(fs, b"/sh") == b"\x7fELF one"


def test_names_out_of_reach_are_left_out_with_a_warning(fs, tmp_path):
    (tmp_path / "exactly14bytes").write_bytes(b"in")
    (tmp_path / "fifteen-bytes-x").write_bytes(b"out")
    (tmp_path / "äöüäöüä").write_bytes(b"in: 14 bytes in UTF-8")
    (tmp_path / "äöüäöüäö").write_bytes(b"out: 16 bytes")
    warnings = load_tree(fs, tmp_path)
    assert names(fs.root) == [b"exactly14bytes", "äöüäöüä".encode()]
    assert warnings == [
        f"{tmp_path}/fifteen-bytes-x: left out: a guest can use names of 14 bytes, this one has 15",
        f"{tmp_path}/äöüäöüäö: left out: a guest can use names of 14 bytes, this one has 16",
    ]


def test_paths_out_of_reach_are_left_out_with_a_warning(fs, tmp_path):
    folder = tmp_path
    for _ in range(9):
        folder = folder / "thirteenchars"  # 14 bytes with its slash: 126 after nine
        folder.mkdir()
    (folder / "a").write_bytes(b"")
    warnings = load_tree(fs, tmp_path)
    assert warnings == [f"{folder}/a: left out: a guest can use paths of 127 bytes, this one would have 128"]
    assert fs.namei(b"/thirteenchars" * 9, fs.root).is_dir


def test_what_is_neither_file_nor_folder_is_left_out(fs, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "to-file").symlink_to("file")
    warnings = load_tree(fs, tmp_path)
    assert names(fs.root) == [b"file", b"to-file"]
    assert [line.rpartition("/")[2] for line in warnings] == [
        f"{name}: left out: neither a file nor a folder" for name in ("broken", "circle", "fifo")
    ]


def test_a_file_and_a_folder_of_one_name_do_not_mix(fs, tmp_path):
    (tmp_path / "one" / "x").mkdir(parents=True)
    (tmp_path / "one" / "y").write_bytes(b"why")
    (tmp_path / "two" / "y").mkdir(parents=True)
    (tmp_path / "two" / "y" / "inner").write_bytes(b"")
    (tmp_path / "two" / "x").write_bytes(b"")
    assert load_tree(fs, tmp_path / "one") == []
    assert load_tree(fs, tmp_path / "two") == [
        f"{tmp_path}/two/x: left out: /x: exists",
        f"{tmp_path}/two/y: left out: /y is a file already",
    ]
    assert content(fs, b"/y") == b"why"


def test_a_file_that_cannot_be_opened_is_left_out(fs, tmp_path, monkeypatch):
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "z").write_bytes(b"x")

    def refuse(file):
        if file.name == "secret":
            raise PermissionError(13, "Permission denied")
        return original(file)

    original = load_tree.__globals__["host_content"]
    monkeypatch.setitem(load_tree.__globals__, "host_content", refuse)
    assert load_tree(fs, tmp_path) == [f"{tmp_path}/secret: left out: Permission denied"]
    assert names(fs.root) == [b"z"]


def test_a_folder_that_is_not_there_is_the_operators_error(fs, tmp_path):
    with pytest.raises(OperatorError, match="none: No such file or directory; give a folder"):
        load_tree(fs, tmp_path / "none")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OperatorError, match="file: Not a directory; give a folder"):
        load_tree(fs, tmp_path / "file")
