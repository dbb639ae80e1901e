"""The line discipline: what typing does to what a program reads and to what the screen shows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexemu.fs.console import Console, Key


class Terminal:
    """A console with everything that it sends out."""

    def __init__(self, echo=True):
        self.screen = b""
        self.keys = []
        self.console = Console(self.show, self.keys.append, echo)

    def show(self, data):
        assert type(data) is bytes
        self.screen += data

    def type(self, text):
        return [self.console.interrupt(byte) for byte in text]


@pytest.fixture
def terminal():
    return Terminal()


def test_a_line_is_readable_at_its_newline(terminal):
    assert terminal.type(b"ls") == [False, False]
    assert terminal.console.read(100) is None
    assert terminal.type(b"\n") == [True]
    assert terminal.console.pending == 3
    assert terminal.console.read(100) == b"ls\n"
    assert terminal.console.read(100) is None
    assert terminal.screen == b"ls\n"


def test_return_becomes_newline(terminal):
    terminal.type(b"ls\r")
    assert terminal.console.read(100) == b"ls\n"
    assert terminal.screen == b"ls\n"


@pytest.mark.parametrize("erase", [b"\x08", b"\x7f"])
def test_backspace_and_delete_take_one_byte_off_the_line_and_the_screen(terminal, erase):
    terminal.type(b"lx" + erase + b"s\n")
    assert terminal.console.read(100) == b"ls\n"
    assert terminal.screen == b"lx\b \bs\n"


def test_backspace_stops_at_the_start_of_the_line(terminal):
    terminal.type(b"one\na\x7f\x7f\x7fb\n")
    assert terminal.screen == b"one\na\b \bb\n"
    assert terminal.console.read(100) == b"one\n"
    assert terminal.console.read(100) == b"b\n"


def test_control_u_takes_the_whole_line(terminal):
    terminal.type(b"one\nabc\x15d\n")
    assert terminal.screen == b"one\nabc" + b"\b \b" * 3 + b"d\n"
    assert [terminal.console.read(100), terminal.console.read(100)] == [b"one\n", b"d\n"]


def test_control_d_on_its_own_is_the_end_of_the_file_once(terminal):
    assert terminal.type(b"\x04") == [True]
    assert terminal.console.read(100) == b""
    assert terminal.console.read(100) is None


def test_control_d_after_some_bytes_delivers_them_and_is_consumed(terminal):
    terminal.type(b"abc\x04")
    assert terminal.console.read(2) == b"ab"
    assert terminal.console.read(2) == b"c"
    assert terminal.console.read(2) is None


def test_control_d_stays_where_a_read_ended_just_before_it(terminal):
    terminal.type(b"abc\x04")
    assert terminal.console.read(3) == b"abc"
    assert terminal.console.read(3) == b""


def test_a_line_of_128_bytes_is_readable_without_a_newline(terminal):
    assert terminal.type(b"x" * 128) == [False] * 127 + [True]
    terminal.type(b"\x7f")  # what is handed over can no longer be edited
    assert terminal.screen == b"x" * 128
    assert terminal.console.read(200) is None  # neither a newline nor 200 bytes yet
    assert terminal.console.read(128) == b"x" * 128


def test_a_read_goes_on_over_the_end_of_a_full_line(terminal):
    terminal.type(b"x" * 128 + b"y\n")
    assert terminal.console.read(200) == b"x" * 128 + b"y\n"


def test_a_read_returns_at_most_one_line_and_at_most_what_was_asked(terminal):
    terminal.type(b"one\ntwo\n")
    assert [terminal.console.read(n) for n in (2, 0, 9, 9)] == [b"on", b"", b"e\n", b"two\n"]


def test_typing_ahead_loses_nothing(terminal):
    terminal.type(b"0123456789\n" * 100)
    assert [terminal.console.read(99) for _ in range(100)] == [b"0123456789\n"] * 100


def test_nul_is_ignored(terminal):
    terminal.type(b"a\0b\n")
    assert terminal.console.read(9) == b"ab\n"
    assert terminal.screen == b"ab\n"


def test_keys_for_the_kernel_are_reported_and_not_read(terminal):
    assert terminal.type(b"l\x10s\n") == [False, False, False, True]
    assert terminal.keys == [Key.LIST]
    assert terminal.console.read(9) == b"ls\n"
    assert terminal.screen == b"ls\n"


def test_control_c_drops_the_line_before_it_is_reported():
    seen = []
    screen = []
    console = Console(screen.append, lambda key: seen.append((key, b"".join(screen))))
    for byte in b"ab\x03c\n":
        console.interrupt(byte)
    assert seen == [(Key.INTERRUPT, b"ab^C\n")]
    assert console.read(9) == b"c\n"


def test_an_empty_line_needs_no_typing_and_leaves_no_trace_on_the_screen(terminal):
    terminal.console.empty_line()
    assert terminal.console.read(9) == b"\n"
    assert terminal.screen == b""


def test_output_is_unchanged(terminal):
    everything = bytes(range(256)) + b"\r\n\n\r"
    assert terminal.console.write(memoryview(everything)) == 260
    assert terminal.screen == everything


def test_without_echo_the_discipline_is_the_same():
    terminal = Terminal(echo=False)
    terminal.type(b"lx\x7fs\r\x15cd\x03x\n")
    assert terminal.screen == b""
    assert [terminal.console.read(9), terminal.console.read(9)] == [b"ls\n", b"x\n"]
    terminal.console.write(b"out")
    assert terminal.screen == b"out"


def test_after_a_hangup_the_rest_is_delivered_and_then_nothing(terminal):
    terminal.type(b"one\ntwo")
    terminal.console.hangup()
    assert [terminal.console.read(9) for _ in range(4)] == [b"one\n", b"two", b"", b""]


def test_a_hangup_without_input_ends_every_read(terminal):
    terminal.console.hangup()
    assert terminal.console.read(1) == b""


# ---- against a naive line editor --------------------------------------------------------------

typing = st.lists(
    st.one_of(
        st.sampled_from([b"\n", b"\r", b"\x04", b"\x08", b"\x7f", b"\x15", b"\0", b"z" * 100]),
        st.sampled_from([bytes([letter]) for letter in b"abc"]),
    ),
    max_size=60,
).map(b"".join)


def naive_lines(typed):
    """What ``typed`` hands over, and the line that is left, the way a person would do it on paper."""
    handed_over, line = "", ""
    for char in typed.decode("latin-1").replace("\0", "").replace("\r", "\n"):
        if char in "\b\x7f":
            line = line[:-1]
        elif char == "\x15":
            line = ""
        else:
            line += char
            if char in "\n\x04" or len(line) == 128:
                handed_over, line = handed_over + line, ""
    return handed_over.encode("latin-1"), line.encode("latin-1")


def read_as_nexos_does(waiting, count):
    """consoleread() byte by byte: the result (None where it would sleep) and what is left waiting."""
    got = b""
    rest = waiting
    while len(got) < count:
        if not rest:
            return None, waiting
        byte, rest = rest[:1], rest[1:]
        if byte == b"\x04":
            break
        got += byte
        if byte == b"\n":
            break
    return got, rest


@settings(deadline=None)
@given(typed=typing, counts=st.lists(st.integers(0, 150), max_size=12))
def test_reads_agree_with_a_naive_line_editor(typed, counts):
    terminal = Terminal()
    terminal.type(typed)
    waiting, _ = naive_lines(typed)
    assert terminal.console.pending == len(waiting)
    for count in counts:
        expected, waiting = read_as_nexos_does(waiting, count)
        assert terminal.console.read(count) == expected


def rendered(screen):
    """The characters that a screen shows, newlines included, after its backspaces took effect."""
    cells, at = [], 0
    for byte in screen:
        if byte == 0x08:
            at -= 1
        else:
            cells[at : at + 1] = [byte]
            at += 1
    return bytes(cells[:at])


@settings(deadline=None)
@given(typing)
def test_the_screen_shows_what_the_program_will_read(typed):
    terminal = Terminal()
    terminal.type(typed)
    handed_over, line = naive_lines(typed)
    assert rendered(terminal.screen) == handed_over + line
