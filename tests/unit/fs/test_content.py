"""The bytes of one file: host bytes stay untouched, views survive growth."""

import tracemalloc
from mmap import ACCESS_READ, mmap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexemu.fs.content import Content


def test_new_content_is_empty():
    content = Content()
    assert content.size == 0
    assert bytes(content.read(0, 100)) == b""


@pytest.mark.parametrize(
    ("offset", "count", "expected"),
    [(0, 5, b"hello"), (1, 3, b"ell"), (3, 100, b"lo"), (5, 1, b""), (9, 1, b""), (0, 0, b"")],
)
def test_read_stops_at_the_end(offset, count, expected):
    assert bytes(Content(b"hello").read(offset, count)) == expected


def test_reading_host_bytes_copies_nothing():
    host = b"x" * 1000
    view = Content(host).read(10, 900)
    assert view.obj is host


def test_reading_own_bytes_copies_nothing_and_cannot_write_them():
    content = Content()
    content.write(0, b"abc")
    view = content.read(0, 3)
    content.write(1, b"X")
    assert bytes(view) == b"aXc"
    assert view.readonly


def test_first_write_copies_the_host_bytes():
    host = b"hello"
    content = Content(host)
    assert content.private_size == 0
    content.write(1, b"EL")
    assert bytes(content.read(0, 9)) == b"hELlo"
    assert host == b"hello"
    assert content.private_size == 5


def test_a_mapped_host_file_is_neither_copied_nor_changed(tmp_path):
    file = tmp_path / "weights"
    file.write_bytes(bytes(8192))
    with file.open("rb") as opened:
        content = Content(mmap(opened.fileno(), 0, access=ACCESS_READ))
    assert isinstance(content.read(0, 8192).obj, mmap)
    content.write(8191, b"\1\2")
    assert content.size == 8193
    assert bytes(content.read(8190, 9)) == b"\0\1\2"
    assert file.read_bytes() == bytes(8192)


def test_growing_leaves_an_older_view_alone():
    content = Content()
    content.write(0, b"old")
    view = content.read(0, 3)
    content.write(3, b"n" * 10_000)
    assert bytes(view) == b"old"
    assert content.size == 10_003


def test_a_growing_file_is_not_there_twice():
    """Each byte once, and the eighth more that a bytearray keeps to grow into."""
    content = Content()
    piece = bytes(4096)
    tracemalloc.start()
    for offset in range(0, 4 << 20, len(piece)):
        content.write(offset, piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert content.size == 4 << 20
    assert peak < 5 << 20


def test_clear_forgets_the_bytes():
    content = Content(b"hello")
    content.write(0, b"J")
    content.clear()
    assert content.size == 0
    assert content.private_size == 0
    content.write(0, b"a")
    assert bytes(content.read(0, 9)) == b"a"


@settings(deadline=None)
@given(
    host=st.binary(max_size=40),
    writes=st.lists(st.tuples(st.integers(0, 80), st.binary(max_size=60)), max_size=12),
)
def test_writes_agree_with_a_plain_bytes_value(host, writes):
    content = Content(host)
    expected = host
    for where, data in writes:
        offset = min(where, len(expected))
        content.write(offset, data)
        expected = expected[:offset] + data + expected[offset + len(data) :]
        assert bytes(content.read(0, content.size)) == expected
        assert content.size == len(expected)
