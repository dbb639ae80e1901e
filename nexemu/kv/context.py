"""Context paging: the model's context window as main memory, an archive as its disk.

A conversation grows beyond what a model can read at once. One that only cuts off the oldest messages
has lost them. Here they go to the archive, and a message that is referred to is paged in again; which
message leaves for it is the choice of any page replacement policy.

Packer et al., "MemGPT" (2023)
"""

from nexemu.errors import OutOfMemory, panic
from nexemu.policy import Evictor, Pages


class ContextWindow(Pages):
    """``capacity`` tokens of messages, which are numbered by whoever writes them. ``evictor`` None: what
    does not fit is cut off at the oldest end and never comes back.

    ``faults``: how often a message had to be paged in; ``lost``: how often one was wanted that is
    gone; ``moved``: tokens that were paged in, which the model has to compute again.
    """

    def __init__(self, capacity: int, evictor: Evictor | None) -> None:
        self.capacity = capacity
        self.faults = 0
        self.lost = 0
        self.moved = 0
        self._evictor = evictor
        self._length: dict[int, int] = {}
        self._inside: dict[int, None] = {}  # the oldest first

    @property
    def used(self) -> int:
        """How many tokens are in the window."""
        return sum(self._length[message] for message in self._inside)

    def say(self, message: int, length: int) -> None:
        """A new message of ``length`` tokens. Raises OutOfMemory when it is longer than the window."""
        if message in self._length:
            panic(f"say: message {message} was said before")
        self._make_room(message, length)
        self._length[message] = length
        self._enter(message)

    def refer(self, message: int) -> bool:
        """Something refers to ``message``: can the model read it?"""
        if message not in self._length:
            panic(f"refer: nobody has said message {message}")
        if message in self._inside:
            if self._evictor is not None:
                self._evictor.touch(message)
            return True
        if self._evictor is None:
            self.lost += 1
            return False
        self.faults += 1
        self.moved += self._length[message]
        self._make_room(message, self._length[message])
        self._enter(message)
        return True

    # ---- how --------------------------------------------------------------------------------------

    def _enter(self, message: int) -> None:
        self._inside[message] = None
        if self._evictor is not None:
            self._evictor.admit(message)

    def _make_room(self, incoming: int, length: int) -> None:
        if length > self.capacity:
            raise OutOfMemory(f"say: a message of {length} tokens in a window of {self.capacity}")
        while self.used + length > self.capacity:
            if self._evictor is None:
                victim: int | None = next(iter(self._inside))
            else:
                victim = self._evictor.victim(incoming, self)
            if victim is None:
                panic("context: the policy found no victim, and nothing is pinned")
            del self._inside[victim]
