"""What a terminal's keyboard hands on of what was typed."""

import threading

from nexemu import terminal
from nexemu.terminal import TerminalKeyboard


def listening(monkeypatch, *typed):
    """A keyboard on which all of this was typed, and whose terminal is gone then."""
    reads, heard = [*typed, None], []
    done = threading.Event()

    def notify():
        heard.append(True)
        if len(heard) == 2 * len(reads):
            done.set()

    monkeypatch.setattr(terminal, "_read_keys", iter(reads).__next__)
    monkeypatch.setattr(terminal, "MOMENT", 0)
    keyboard = TerminalKeyboard()
    keyboard.listen(notify)
    assert done.wait(30)
    return keyboard


def test_what_was_typed_before_the_terminal_went_is_not_lost(monkeypatch):
    keyboard = listening(monkeypatch, b"ls\r", b"exit\r")
    assert keyboard.poll() == b"ls\rexit\r"
    assert keyboard.poll() is None
    assert keyboard.wait() is None


def test_an_escape_is_seen_across_two_reads(monkeypatch):
    keyboard = listening(monkeypatch, b"a\x01", b"\x01b")
    assert keyboard.poll() == b"a\x01b"
