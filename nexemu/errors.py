"""The three tiers of error.

1. The guest's fault: :class:`GuestError`. Raised anywhere below the gate and caught in
   exactly two places: ``syscall`` turns it into -1, ``usertrap`` kills the process.
2. The kernel's fault: :class:`KernelPanic`, raised through :func:`panic`. Never caught below
   the command line: the machine has lost an invariant and must not go on.
3. The operator's fault: :class:`OperatorError`. One line on standard error and exit status 2.
"""

from typing import NoReturn


class GuestError(Exception):
    """A user program asked for something that it cannot have."""


class BadAddress(GuestError):
    """An address that the process may not use in this way; the text says why."""

    def __init__(self, va: int, why: str) -> None:
        super().__init__(f"{va:#x}: {why}")
        self.va = va
        self.why = why


class OutOfMemory(GuestError):
    """No frame is left."""


class BadFile(GuestError):
    """A path, a file descriptor or a file operation that cannot be served; the text says why."""


class BadExecutable(GuestError):
    """``exec`` was given a file that cannot be loaded; the text says why."""


class BadCall(GuestError):
    """A system call whose arguments or circumstances make it fail; the text says why."""


class KernelPanic(Exception):
    """An invariant of the kernel is broken."""


class OperatorError(Exception):
    """The person at the command line asked for something impossible; the text says what to do."""


def panic(message: str) -> NoReturn:
    """Stop the machine: ``message`` begins with the function that found the damage."""
    raise KernelPanic(message)
