"""Typed bytes on their way to the console, and the keys that are for the kernel.

A terminal's bytes are taken as they come. A file's or a pipe's wait as long as we like, so they are
asked for when a program wants them and never otherwise: what a script does depends on the script
alone.

xv6: kernel/uart.c's interrupt, and consoleintr()'s special keys in kernel/console.c
"""

from typing import Protocol

from nexemu.fs.console import Key
from nexemu.proc.proc import SLEEPING
from nexemu.trap.machine import Machine


class Keyboard(Protocol):
    """Where typed bytes come from. ``on_demand``: they wait until they are asked for."""

    on_demand: bool

    def poll(self) -> bytes | None:
        """What was typed since the last call, None when no more will come; never waits."""

    def wait(self) -> bytes | None:
        """The next typed bytes, None when no more will come."""


class NoKeys:
    """A keyboard on which nobody types."""

    on_demand = True

    def poll(self) -> bytes | None:
        """Nothing."""
        return b""

    def wait(self) -> bytes | None:
        """No more will come."""
        return None


class Keys:
    """``ended``: no more will be typed."""

    __slots__ = ("ended", "_keyboard", "_machine")

    def __init__(self, machine: Machine, keyboard: Keyboard) -> None:
        self.ended = False
        self._machine = machine
        self._keyboard = keyboard

    def take(self) -> None:
        """Give the console what there is for it."""
        if not self._keyboard.on_demand:
            if not self.ended:
                self._type(self._keyboard.poll())
            return
        while not self.ended and self._somebody_reads():
            self._type(self._keyboard.wait())

    def wait(self) -> bool:
        """Nobody can run: wait for a key. Returns False when no key can help."""
        if self.ended or (self._keyboard.on_demand and not self._somebody_reads()):
            return False
        self._type(self._keyboard.wait())
        return True

    def act(self, key: Key) -> None:
        """Do what ``key`` asks of the kernel: list the processes, or end those in the foreground."""
        procs = self._machine.procs
        if key is Key.LIST:
            self._machine.log(procs.listing())
            return
        foreground = procs.foreground()
        for proc in foreground:
            procs.kill(proc)
        if not foreground:
            self._machine.console.empty_line()
            procs.wakeup(self._machine.console)

    def _somebody_reads(self) -> bool:
        console = self._machine.console
        return any(proc.chan is console and proc.state is SLEEPING for proc in self._machine.procs)

    def _type(self, keys: bytes | None) -> None:
        console, procs = self._machine.console, self._machine.procs
        if keys is None:
            self.ended = True
            console.hangup()
            procs.wakeup(console)
            return
        for byte in keys:
            if console.interrupt(byte):
                procs.wakeup(console)
