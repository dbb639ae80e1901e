"""What goes through the two pipes between the machine and the sandbox.

One conversation: the machine sends a CALL; the handler answers with any number of requests, each
of which the machine answers with a reply, and then with one outcome. Every message is a fixed head
of numbers; a text, or the numbers of PAGES, follow some heads. Nothing that a sandbox sends is more
than numbers and a text to be shown, so that nothing it sends can be more than that.
"""

import struct
from enum import IntEnum
from typing import Final

TO_SANDBOX: Final = struct.Struct("<BBQQQQ")
"""A call: function, number of spaces, their two handles, its arguments ``a`` and ``b``.
Before the first call: 0, 0, and the lengths of the handler's name and of its text, which follow."""

REQUEST: Final = struct.Struct("<BBQQQQQ")
"""From the sandbox: :class:`Say`; then for OP the primitive, the handle and four arguments; for an outcome
0, 0, its value, and the length of the text that follows."""

REPLY: Final = struct.Struct("<BQ")
"""To the sandbox: :class:`Reply` and a value; for NUMBERS how many 64-bit numbers follow, for the three
kinds of error the length of the text that follows."""

LONGEST_TEXT: Final = 1 << 16
SIGN: Final = 1 << 63


def signed(number: int) -> int:
    """The 64-bit ``number`` as a signed one."""
    return (number ^ SIGN) - SIGN


class Say(IntEnum):
    """What a message from the sandbox is."""

    OP = 0
    DONE = 1
    BAD_ADDRESS = 2
    OUT_OF_MEMORY = 3
    BAD_CALL = 4
    FAILED = 5


class Reply(IntEnum):
    """What a reply to a request is."""

    NUMBER = 0
    NUMBERS = 1
    OUT_OF_MEMORY = 2
    PANIC = 3
