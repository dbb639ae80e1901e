"""A student whose functions run in a sandbox.

The machine asks; the sandbox answers, and in between asks for primitives, which are carried out
here. What it says is checked to be a message of the protocol. It is believed in one thing only: that
this is its answer. Whether the answer is right is seen in the machine.
"""

from array import array
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from nexemu.errors import BadAddress, BadCall, KernelPanic, OutOfMemory
from nexemu.grade.primitive import Function, Op
from nexemu.grade.sandbox.process import Process, printable
from nexemu.grade.sandbox.wire import LONGEST_TEXT, REPLY, REQUEST, TO_SANDBOX, Reply, Say, signed
from nexemu.grade.student.primitives import OutOfBudget, Primitives
from nexemu.grade.student.source import HandlerFailed
from nexemu.mem.vm import AddressSpace
from nexemu.riscv import U64

NO_MESSAGE: Final = "the handler sent the machine something that is no answer"


class SandboxedStudent:
    """The handler ``text``, to be called ``name``, in a process of its own, for one machine. A context
    manager: at the end nothing is left of it. Raises HandlerFailed when it cannot be loaded."""

    def __init__(self, text: str, name: str) -> None:
        self._primitives: Primitives | None = None
        self._process = Process()
        self._failed: HandlerFailed | None = None
        self._panic: str | None = None
        try:
            self._process.send(TO_SANDBOX.pack(0, 0, len(name.encode()), 0, len(text.encode()), 0))
            self._process.send(name.encode() + text.encode())
            self._outcome(0)
        except BaseException:
            self._process.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.close()

    @property
    def output(self) -> str:
        """What the handler printed; complete when the context has ended."""
        return self._process.output

    def call(self, function: Function, spaces: Sequence[AddressSpace], a: int = 0, b: int = 0) -> int:
        """See :class:`~nexemu.grade.student.adapter.Student`. What failed once keeps failing."""
        if self._failed is not None:
            raise self._failed
        if self._primitives is None:
            self._primitives = Primitives(spaces[0].frames, limited=True)
        handles = self._primitives.begin(spaces)
        first, second = [*handles, 0][:2]
        self._process.send(TO_SANDBOX.pack(function, len(handles), first, second, a & U64, b))
        try:
            return self._outcome(a)
        except HandlerFailed as error:
            self._failed = error
            raise

    def _outcome(self, va: int) -> int:
        """Serve requests until the call is over; its value. ``va`` is what a BadAddress would be about."""
        while True:
            say, number, handle, a, b, c, d = REQUEST.unpack(self._process.receive(REQUEST.size))
            if say == Say.OP:
                self._serve(number, handle, a, b, c, d)
                continue
            if b > LONGEST_TEXT:
                raise HandlerFailed(NO_MESSAGE)
            text = printable(self._process.receive(b))
            if self._panic is not None:  # whatever it says: a kernel would have stopped there
                raise HandlerFailed(f"panic: {self._panic}\n{text}".rstrip())
            if say == Say.DONE:
                return signed(a)
            raise _refusal(say, va, text)

    def _serve(self, number: int, handle: int, a: int, b: int, c: int, d: int) -> None:
        """Carry one primitive out and answer."""
        if self._primitives is None:  # nobody has called a function yet
            raise HandlerFailed(NO_MESSAGE)
        try:
            op = Op(number)
            if op is Op.PAGES:
                numbers = array("Q", self._primitives.numbers(op, handle, a, b))
                self._process.send(REPLY.pack(Reply.NUMBERS, len(numbers)) + numbers.tobytes())
            else:
                value = self._primitives.number(op, handle, a, b, c, d)
                self._process.send(REPLY.pack(Reply.NUMBER, value))
        except OutOfMemory as error:
            self._process.send(_told(Reply.OUT_OF_MEMORY, str(error)))
        except KernelPanic as error:
            self._panic = str(error)
            self._process.send(_told(Reply.PANIC, str(error)))
        except OutOfBudget as error:
            raise HandlerFailed(str(error)) from error
        except ValueError as error:
            raise HandlerFailed(NO_MESSAGE) from error


def _told(reply: Reply, text: str) -> bytes:
    return REPLY.pack(reply, len(text.encode())) + text.encode()


def _refusal(say: int, va: int, text: str) -> Exception:
    """What the handler raised, as the kernel knows it."""
    if say == Say.BAD_ADDRESS:
        return BadAddress(va, text)
    if say == Say.OUT_OF_MEMORY:
        return OutOfMemory(text)
    if say == Say.BAD_CALL:
        return BadCall(text)
    return HandlerFailed(text if say == Say.FAILED else NO_MESSAGE)
