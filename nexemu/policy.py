"""The shapes of policies: what the kernel asks of whoever decides.

Mechanism asks, policy decides. A policy sees ids and ticks only, never a process or a PTE, so that
each one also runs alone: a scheduler on a list of jobs, an evictor on a reference string.
"""

from typing import Protocol


class Scheduler(Protocol):
    """Chooses the process that runs next. A pid is queued at most once.

    Time is what ``ran`` adds up: while nobody runs nobody waits, so a policy that needs a clock
    (to age, to boost) has one. The methods with a body are for policies that need them; whoever
    takes the others' defaults by inheriting from this class runs each choice until it waits or ends.
    """

    __slots__ = ()

    def ready(self, pid: int) -> None:
        """``pid`` can run: it is new, it woke up, or it had to stop."""

    def choose(self) -> int | None:
        """Take the next pid off the queue, or None when nothing is ready."""

    def forget(self, pid: int) -> None:
        """``pid`` has ended, whether it was queued or not: nothing of it remains."""

    def waiting(self) -> int:
        """How many pids are queued."""

    def ran(self, pid: int, ticks: int) -> None:
        """``pid``, chosen last, has run for ``ticks`` more. Told before it is ready again or forgotten,
        and before ``preempts`` is asked."""
        return

    def quantum(self, pid: int) -> int | None:
        """For how many ticks ``pid``, just chosen, may run before it has to stop; None is no limit."""
        return None

    def preempts(self, pid: int) -> bool:
        """Should ``pid``, which is running, stop at once for somebody who is queued? Asked when somebody
        became ready; after a yes, ``pid`` itself is ready next."""
        return False


class Pages(Protocol):
    """What an evictor may ask about an id that is in memory: a page, or a block of a KV cache. The
    defaults are those of a bare memory, which has no bits and pins nothing."""

    __slots__ = ()

    def accessed(self, page: int) -> bool:
        """Has it been used since this was asked last? To ask is to clear the bit."""
        return False

    def dirty(self, page: int) -> bool:
        """Has it changed since it came in, so that it must be written before it leaves?"""
        return False

    def pinned(self, page: int) -> bool:
        """Must it stay for now?"""
        return False


class Evictor(Protocol):
    """Chooses the id that leaves when another one has to come in.

    A trace, or a cache in software, tells of every use by ``touch``. Hardware only sets accessed
    bits: there the policy looks at them through :class:`Pages`, at each ``victim`` or ``tick``.
    """

    __slots__ = ()

    def touch(self, page: int) -> None:
        """``page``, which is in, was used."""

    def admit(self, page: int) -> None:
        """``page``, which was out, came in because it was used."""

    def victim(self, incoming: int, pages: Pages) -> int | None:
        """Choose the page that makes room for ``incoming``; it counts as out from now on. None when every
        page is pinned."""

    def remove(self, page: int) -> None:
        """``page`` left by itself, as at the end of its process; nothing of it remains."""

    def tick(self, pages: Pages) -> None:
        """Some time has passed; for policies that sample accessed bits."""
        return
