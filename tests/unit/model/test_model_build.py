"""Folders appear whole or not at all."""

import os

import pytest

from nexemu.errors import OperatorError
from nexemu.model.build import locked, new_folder


def visible(parent):
    return sorted(name for name in os.listdir(parent) if not name.startswith("."))


def test_a_folder_takes_its_name_when_it_is_finished(tmp_path):
    with locked(tmp_path / "a" / "b"), new_folder(tmp_path / "a" / "b" / "image") as part:
        (part / "x").write_text("1")
        assert visible(tmp_path / "a" / "b") == []
    assert (tmp_path / "a" / "b" / "image" / "x").read_text() == "1"
    assert sorted(os.listdir(tmp_path / "a" / "b")) == [".lock", "image"]


class Interrupted(BaseException):
    pass


def interrupt_a_build(folder):
    with new_folder(folder) as part:
        (part / "x").write_text("half")
        raise Interrupted


def test_an_interrupted_build_leaves_nothing(tmp_path):
    with pytest.raises(Interrupted):
        interrupt_a_build(tmp_path / "image")
    assert os.listdir(tmp_path) == []


def test_an_interrupted_build_leaves_what_was_there_before(tmp_path):
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "x").write_text("old")
    with pytest.raises(Interrupted):
        interrupt_a_build(tmp_path / "image")
    assert (tmp_path / "image" / "x").read_text() == "old"


def test_a_new_folder_replaces_the_old_one(tmp_path):
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "old").write_text("old")
    with new_folder(tmp_path / "image") as part:
        (part / "new").write_text("new")
    assert os.listdir(tmp_path / "image") == ["new"]


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path):
    (tmp_path / ".image.killed").mkdir()
    (tmp_path / ".image.killed" / "x").write_text("half")
    (tmp_path / ".other.busy").mkdir()
    with new_folder(tmp_path / "image"):
        pass
    assert sorted(os.listdir(tmp_path)) == [".other.busy", "image"]


def test_anyone_may_read_the_folder(tmp_path):
    with new_folder(tmp_path / "image"):
        pass
    assert (tmp_path / "image").stat().st_mode & 0o777 == 0o755


def test_a_full_disk_is_the_operators_to_mend(tmp_path):
    with (
        pytest.raises(OperatorError, match=r"cannot build .*image: No space left on device"),
        new_folder(tmp_path / "image"),
    ):
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_so_is_a_disk_with_no_room_for_the_folder_itself(tmp_path, monkeypatch):
    def mkdtemp(**how):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", mkdtemp)
    with pytest.raises(OperatorError, match=r"cannot build"), new_folder(tmp_path / "image"):
        pass


def test_a_cache_that_cannot_be_made_is_named_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OperatorError, match=r"cannot write to the cache .*file/images.*NEXEMU_CACHE"),
        locked(tmp_path / "file" / "images"),
    ):
        pass
