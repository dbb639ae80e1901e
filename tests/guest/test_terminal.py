"""``nexemu run`` at a real terminal: a pseudo-terminal, with what a person types and sees.

Nothing here depends on how long things take: each step waits for what must appear on the screen.
"""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios

import pytest
from support import ROOT

CTRL_A, CTRL_C, CTRL_D, CTRL_P, CTRL_U, BACKSPACE = b"\x01", b"\x03", b"\x04", b"\x10", b"\x15", b"\x7f"
PATIENCE = 60
"""Seconds after which the screen is taken to be dead; a failing test's only cost."""


class Terminal:
    """A terminal with ``nexemu`` as its foreground program."""

    def __init__(self, environment, *words):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.screen = b""
        self.seen = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nexemu", "run", *words],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment,
            start_new_session=True,
        )

    def type(self, keys):
        os.write(self.master, keys)

    def see(self, text):
        """Wait until ``text`` appears behind what was seen before; what came up to there."""
        while text not in self.screen[self.seen :]:
            ready, _, _ = select.select([self.master], [], [], PATIENCE)
            assert ready, f"{text!r} did not appear; the screen says {self.screen.decode(errors='replace')!r}"
            self.screen += os.read(self.master, 4096)
        end = self.screen.index(text, self.seen) + len(text)
        shown, self.seen = self.screen[self.seen : end], end
        return shown

    def rest(self):
        """What else has appeared by now."""
        while select.select([self.master], [], [], 0.1)[0]:
            self.screen += os.read(self.master, 4096)
        shown, self.seen = self.screen[self.seen :], len(self.screen)
        return shown

    def ends(self):
        """The exit status, once it is over."""
        return self.process.wait(PATIENCE)

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(guests, programs, tmp_path):
    environment = os.environ | {"NEXEMU_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    opened = []

    def start(*words):
        opened.append(Terminal(environment, "--image", str(programs), *words))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def shell(terminal):
    started = terminal()
    started.see(b"$ ")
    return started


# ---- leaving ----------------------------------------------------------------------------------


def test_ctrl_d_at_the_prompt_halts_and_the_terminal_is_as_before(shell):
    assert not shell.is_restored(), "keys must arrive one by one while it runs"
    shell.type(CTRL_D)
    assert shell.ends() == 0
    assert shell.is_restored()


@pytest.mark.parametrize("keys", [b"x", b"X"])
def test_ctrl_a_x_leaves(shell, keys):
    shell.type(CTRL_A + keys)
    assert shell.ends() == 0
    assert shell.is_restored()


def test_ctrl_a_x_leaves_a_program_that_loops(terminal):
    started = terminal("--", "spin")
    started.see(b"spinning\r\n")
    started.type(CTRL_A)
    started.type(b"x")
    assert started.ends() == 0
    assert started.is_restored()


def test_ctrl_a_before_another_key_is_not_leaving(shell):
    shell.type(CTRL_A + b"eecho " + CTRL_A + CTRL_A + b"z\r")
    shell.see(b"\x01z\r\n$ ")
    shell.type(CTRL_D)
    assert shell.ends() == 0


def test_exit_gives_its_status(shell):
    shell.type(b"exit 7\r")
    assert shell.ends() == 7
    assert shell.is_restored()


def test_a_terminal_that_is_hung_up_ends_the_machine(shell):
    os.close(shell.master)
    shell.master = os.open(os.devnull, os.O_RDWR)
    shell.ends()


# ---- typing -----------------------------------------------------------------------------------


def test_keys_are_echoed_once_and_a_line_runs_at_return(shell):
    shell.type(b"echo hello\r")
    assert shell.see(b"$ ") == b"echo hello\r\nhello\r\n$ "


def test_lines_can_be_edited(shell):
    shell.type(b"echo mistkae" + BACKSPACE * 3 + b"ake\r")
    shell.see(b"\r\nmistake\r\n$ ")
    shell.type(b"nonsense" + CTRL_U + b"echo fresh\r")
    shell.see(b"\r\nfresh\r\n$ ")


def test_typing_ahead_is_kept(shell):
    shell.type(b"sleep 1\recho one\recho two\r")
    shell.see(b"one\r\n")
    shell.see(b"two\r\n$ ")


def test_a_program_reads_what_is_typed_until_ctrl_d(shell):
    shell.type(b"wc\r")
    shell.see(b"wc\r\n")
    shell.type(b"some words\r" + CTRL_D)
    shell.see(b"1 2 11")
    shell.see(b"$ ")


def test_output_lines_begin_at_the_margin(shell):
    """The terminal still turns NL into CR NL."""
    shell.type(b"ls /echo\r")
    assert re.search(rb"/echo +file +\d+\r\n\$ $", shell.see(b"\r\n$ "))


# ---- the kernel's keys ------------------------------------------------------------------------


def test_ctrl_c_ends_a_program_that_makes_no_system_call_and_the_shell_prompts_again(shell):
    shell.type(b"spin\r")
    shell.see(b"spinning\r\n")
    shell.type(CTRL_C)
    shell.see(b"$ ")
    shell.type(b"echo $?\r")
    shell.see(b"\r\n-1\r\n$ ")


def wait_until_asleep(shell, name, count):
    """Ask with Ctrl-P until ``count`` processes called ``name`` sleep."""
    listing = b""
    for _ in range(200):
        shell.type(CTRL_P)
        listing = shell.see(b"ppid state     name\r\n") + shell.rest()
        if listing.count(b"sleeping  " + name) == count:
            return
    pytest.fail(f"no {count} {name} sleep: {listing!r}")


@pytest.mark.parametrize(
    ("line", "name", "count"), [(b"cat", b"cat", 1), (b"cat | cat | cat", b"cat", 3), (b"grep x", b"grep", 1)]
)
def test_ctrl_c_ends_what_waits(shell, line, name, count):
    shell.type(line + b"\r")
    shell.see(line + b"\r\n")
    wait_until_asleep(shell, name, count)
    shell.type(CTRL_C)
    shell.see(b"$ ")
    shell.type(b"ps\r")
    assert name + b"\r\n" not in shell.see(b" ps\r\n$ ")


def test_ctrl_c_at_the_prompt_throws_the_line_away_and_leaves_the_shell(shell):
    shell.type(b"exit 9" + CTRL_C)
    shell.see(b"$ ")
    shell.type(b"echo alive\r")
    shell.see(b"\r\nalive\r\n$ ")


def test_ctrl_c_leaves_background_jobs_alone(shell):
    shell.type(b"spin &\r")
    shell.see(b"spinning\r\n")
    shell.type(b"cat\r")
    shell.see(b"cat\r\n")
    wait_until_asleep(shell, b"cat", 1)
    shell.type(CTRL_C)
    shell.see(b"$ ")
    shell.type(b"ps\r")
    listing = shell.see(b" ps\r\n$ ")
    assert b" spin\r\n" in listing
    assert b" cat\r\n" not in listing


def test_ctrl_c_ends_a_program_that_was_started_without_a_shell(terminal):
    started = terminal("--", "spin")
    started.see(b"spinning\r\n")
    started.type(CTRL_C)
    assert started.ends() == 255
    assert started.is_restored()


def test_ctrl_c_ends_what_a_command_line_started(terminal):
    started = terminal("-c", "spin; echo after $?")
    started.see(b"spinning\r\n")
    started.type(CTRL_C)
    started.see(b"after -1\r\n")
    assert started.ends() == 0


def test_ctrl_p_lists_the_processes_while_one_loops(shell):
    shell.type(b"spin\r")
    shell.see(b"spinning\r\n")
    shell.type(CTRL_P)
    shell.see(b"sh\r\n")
    assert re.search(rb"\d+ +\d+ running +spin\r\n", shell.see(b"spin\r\n"))
    shell.type(CTRL_C)
    shell.see(b"$ ")


def test_a_killed_program_is_explained_on_the_screen_and_the_shell_goes_on(shell):
    shell.type(b"crash\r")
    shell.see(b"[nexemu] pid 5 crash: killed by load page fault")
    shell.see(b"$ ")
    shell.type(b"echo on\r")
    shell.see(b"\r\non\r\n$ ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_ends_the_run_leaves_a_usable_terminal(shell, number):
    """Without echo and line editing, the person's own shell would be unusable afterwards."""
    shell.process.send_signal(number)
    assert shell.ends() == 128 + number
    assert shell.is_restored()


def test_a_signal_ends_a_run_whose_guest_loops(terminal):
    started = terminal("--", "spin")
    started.see(b"spinning\r\n")
    started.process.send_signal(signal.SIGTERM)
    assert started.ends() == 128 + signal.SIGTERM
    assert started.is_restored()
