"""Typed bytes on their way to the console, at a terminal and from a file."""

import pytest
from gate import Gate
from support import Segment, Typed

from nexemu.fs.console import Key
from nexemu.proc.proc import State
from nexemu.trap.keys import Keys

BUFFER = 4096
PROGRAM = (Segment(0, b"text", flags=5), Segment(BUFFER, b"data", flags=6))


class Terminal:
    """Gives what it was told to give, poll by poll."""

    on_demand = False

    def __init__(self, *typed):
        self.typed = list(typed)

    def poll(self):
        return self.typed.pop(0)

    wait = poll


@pytest.fixture
def gate():
    return Gate()


def reader(gate):
    """A process that waits for a line."""
    proc = gate.spawn(*PROGRAM)
    assert gate.call(proc, "read", 0, BUFFER, 100) is None
    assert proc.state is State.SLEEPING
    return proc


def test_a_terminals_bytes_come_as_they_are_typed(gate):
    keys, proc = Keys(gate.machine, Terminal(b"", b"ab", b"c\nrest")), reader(gate)
    keys.take()
    keys.take()
    assert proc.state is State.SLEEPING
    keys.take()
    assert gate.resume(proc) == 4
    assert gate.machine.console.pending == 0, "an unfinished line is nobody's yet"


def test_a_file_is_asked_only_while_somebody_reads(gate):
    keyboard = Typed(b"one\ntwo\n")
    keys = Keys(gate.machine, keyboard)
    keys.take()
    assert keys.wait() is False
    proc = reader(gate)
    keys.take()
    assert gate.resume(proc) == 4
    assert keyboard.wait() == b"two\n"


def test_waiting_takes_the_next_bytes_where_they_can_help(gate):
    keys, proc = Keys(gate.machine, Terminal(b"x\n")), reader(gate)
    assert keys.wait() is True
    assert gate.resume(proc) == 2
    keys = Keys(gate.machine, Typed(b"y\n"))
    reader(gate)
    assert keys.wait() is True


@pytest.mark.parametrize("keyboard", [Terminal(None, b"never"), Typed(b"")])
def test_the_end_of_all_input_gives_every_reader_nothing(gate, keyboard):
    keys, first, second = Keys(gate.machine, keyboard), reader(gate), reader(gate)
    keys.take()
    assert keys.ended
    assert [gate.resume(first), gate.resume(second)] == [0, 0]
    assert keys.wait() is False
    keys.take()


def test_ctrl_p_lists_the_processes(gate):
    proc = gate.spawn(*PROGRAM)
    Keys(gate.machine, Terminal()).act(Key.LIST)
    (text,) = gate.log
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["3", "0", "running", "init"],
        [str(proc.pid), "3", "running", "victim"],
    ]


def test_ctrl_c_ends_the_foreground_and_spares_the_shell(gate):
    shell = gate.fork(gate.init)
    job = gate.fork(shell)
    Keys(gate.machine, Terminal()).act(Key.INTERRUPT)
    assert (gate.init.killed, shell.killed, job.killed) == (False, False, True)


def test_ctrl_c_without_a_foreground_lets_a_shell_prompt_again(gate):
    shell = gate.fork(gate.init)
    gate._drain()
    shell.state = State.RUNNING
    console = gate.files.console()
    shell.files[0] = console
    assert gate.call(shell, "read", 0, 0, 1) is None
    Keys(gate.machine, Terminal()).act(Key.INTERRUPT)
    assert not shell.killed
    assert shell.state is State.RUNNABLE
    assert gate.machine.console.pending == 1
