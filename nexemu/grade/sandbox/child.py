"""The sandbox's own program: give up every right, then do what the handler says.

Started by :mod:`nexemu.grade.sandbox.process` as a Python of its own. From the moment the handler's
text is executed nothing here can be relied upon, since it can change whatever it likes in this
process; the machine on the other side takes no word of it for granted.
"""

import os
import signal
from array import array
from types import FrameType
from typing import Final

from nexemu.errors import BadAddress, BadCall, GuestError, KernelPanic, OutOfMemory
from nexemu.grade.primitive import Function, Op
from nexemu.grade.sandbox.limits import renounce
from nexemu.grade.sandbox.wire import LONGEST_TEXT, REPLY, REQUEST, TO_SANDBOX, Reply, Say, signed
from nexemu.grade.student.source import HandlerFailed, Loaded, answer, load
from nexemu.riscv import U64

SECONDS_A_CALL: Final = 1.0
"""Processor time that one call may take: a thousand times what a sensible one needs."""


class TooLong(BaseException):
    """The handler computes for so long that it will hardly come back."""


class Machine:
    """The machine at the other end of the pipes: reads from ``source``, writes to ``sink``."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink

    def read(self, count: int) -> bytes:
        """Exactly ``count`` bytes. Ends the process when the machine is gone."""
        data = b""
        while len(data) < count:
            piece = os.read(self._source, count - len(data))
            if not piece:
                os._exit(0)
            data += piece
        return data

    def number(self, op: Op, handle: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
        """See :class:`nexemu.grade.primitive.Kernel`."""
        os.write(self._sink, REQUEST.pack(Say.OP, op, handle, a, b, c, d))
        kind, value = REPLY.unpack(self.read(REPLY.size))
        if kind == Reply.NUMBER:
            return int(value)
        raise self._refusal(kind, value)

    def numbers(self, op: Op, handle: int, a: int, b: int) -> list[int]:
        """See :class:`nexemu.grade.primitive.Kernel`."""
        os.write(self._sink, REQUEST.pack(Say.OP, op, handle, a, b, 0, 0))
        kind, value = REPLY.unpack(self.read(REPLY.size))
        if kind == Reply.NUMBERS:
            return array("Q", self.read(8 * value)).tolist()
        raise self._refusal(kind, value)

    def _refusal(self, kind: int, length: int) -> Exception:
        text = self.read(length).decode()
        return OutOfMemory(text) if kind == Reply.OUT_OF_MEMORY else KernelPanic(text)

    def say(self, what: Say, value: int = 0, text: str = "") -> None:
        """Send an outcome: its value, and its text where there is one."""
        told = text.encode("utf-8", "replace")[:LONGEST_TEXT]
        data = REQUEST.pack(what, 0, 0, value & U64, len(told), 0, 0) + told
        while data:
            data = data[os.write(self._sink, data) :]


def main(source: int, sink: int) -> None:
    """Receive a handler, then answer calls of it until the machine closes the pipe."""
    machine = Machine(source, sink)
    _, _, name_length, _, text_length, _ = TO_SANDBOX.unpack(machine.read(TO_SANDBOX.size))
    name, text = machine.read(name_length).decode(), machine.read(text_length).decode()
    renounce()
    signal.signal(signal.SIGVTALRM, _too_long)
    handler = None
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_A_CALL)
        handler = load(text, name)
    except HandlerFailed as error:
        machine.say(Say.FAILED, text=str(error))
    else:
        machine.say(Say.DONE)
    while handler is not None:
        _serve(machine, handler)


def _serve(machine: Machine, handler: Loaded) -> None:
    """One call, and its outcome."""
    number, count, first, second, a, b = TO_SANDBOX.unpack(machine.read(TO_SANDBOX.size))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_A_CALL)
    try:
        function = Function(number)
        argument = signed(a) if function is Function.SBRK else a
        value = answer(handler, function, machine, (first, second)[:count], argument, b)
        machine.say(Say.DONE, value)
    except HandlerFailed as error:
        machine.say(Say.FAILED, text=str(error))
    except BadAddress as error:
        machine.say(Say.BAD_ADDRESS, text=str(error.why))
    except OutOfMemory as error:
        machine.say(Say.OUT_OF_MEMORY, text=str(error))
    except BadCall as error:
        machine.say(Say.BAD_CALL, text=str(error))
    except GuestError as error:
        machine.say(Say.FAILED, text=f"{type(error).__name__}: {error}")


def _too_long(_number: int, _frame: FrameType | None) -> None:
    raise TooLong(f"more than {SECONDS_A_CALL:g} s of processor time in one call")
