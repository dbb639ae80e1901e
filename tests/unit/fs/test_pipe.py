"""Pipes: 512 bytes, two ends, and nobody waits inside."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexemu.errors import BadFile, KernelPanic
from nexemu.fs.pipe import Pipe

READ_END, WRITE_END = False, True


def test_bytes_come_out_in_the_order_they_went_in():
    pipe = Pipe()
    assert pipe.write(b"hello ") == 6
    assert pipe.write(memoryview(b"world")) == 5
    assert pipe.read(4) == b"hell"
    assert pipe.pending == 7
    assert pipe.read(100) == b"o world"


def test_an_empty_pipe_with_a_writer_has_nothing_yet():
    assert Pipe().read(1) is None


def test_an_empty_pipe_without_a_writer_is_at_its_end():
    pipe = Pipe()
    pipe.write(b"last")
    pipe.close(WRITE_END)
    assert pipe.read(2) == b"la"
    assert pipe.read(9) == b"st"
    assert pipe.read(9) == b""
    assert pipe.read(9) == b""


def test_it_takes_512_bytes_and_then_no_more():
    pipe = Pipe()
    assert pipe.write(bytes(600)) == 512
    assert pipe.write(b"x") == 0
    assert pipe.read(3) == b"\0\0\0"
    assert pipe.write(b"xyz!") == 3
    assert pipe.read(999)[-4:] == b"\0xyz"


def test_writing_without_a_reader_fails():
    pipe = Pipe()
    pipe.write(b"x")
    pipe.close(READ_END)
    with pytest.raises(BadFile, match="nobody reads"):
        pipe.write(b"y")
    assert pipe.write(b"") == 0


@pytest.mark.parametrize("order", [(READ_END, WRITE_END), (WRITE_END, READ_END)])
def test_release_is_called_once_when_both_ends_are_closed(order):
    released = []
    pipe = Pipe(lambda: released.append(True))
    pipe.close(order[0])
    assert released == []
    pipe.close(order[1])
    assert released == [True]


def test_closing_an_end_twice_is_a_panic():
    pipe = Pipe()
    pipe.close(WRITE_END)
    with pytest.raises(KernelPanic, match="pipeclose"):
        pipe.close(WRITE_END)


steps = st.one_of(st.binary(max_size=400), st.integers(1, 400))


@settings(deadline=None)
@given(st.lists(steps, max_size=40))
def test_agrees_with_an_unbounded_queue_and_a_count_of_what_is_in_it(calls):
    """A bytes step writes, an integer reads. Everything accepted comes out once, in order."""
    pipe = Pipe()
    went_in, came_out = b"", b""
    for call in calls:
        inside = len(went_in) - len(came_out)
        if isinstance(call, bytes):
            accepted = pipe.write(call)
            assert accepted == min(len(call), 512 - inside)
            went_in += call[:accepted]
        else:
            got = pipe.read(call)
            assert got == (went_in[len(came_out) :][:call] or None)
            came_out += got or b""
        assert pipe.pending == len(went_in) - len(came_out)
