"""Demo 1: a thread changes its process's memory, a process only its own."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread

from nexemu.errors import OperatorError

SPAWNED = get_context("spawn")
"""New processes begin with a fresh interpreter, which is safe whatever threads this one has."""


@contextmanager
def deaf() -> Iterator[None]:
    """Processes that start in this block do not hear Ctrl-C, which goes to the whole terminal: this one does,
    and ends them."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True, slots=True)
class Seen:
    """The first cell of a list that begins as 0: after a thread has set it to 1, as main sees it; after a
    process has set it to 2, as that process and as main see it."""

    after_thread: int
    by_process: int
    after_process: int


def change(cells: list[int], value: int) -> None:
    """The work that is given to somebody else."""
    cells[0] = value


def change_and_tell(cells: list[int], value: int, pipe: Connection) -> None:
    """The same in another process, which says what it sees."""
    change(cells, value)
    pipe.send(cells[0])


def what_is_seen() -> Seen:
    """Do both. Raises OperatorError where no process can be started."""
    cells = [0]
    thread = Thread(target=change, args=(cells, 1))
    thread.start()
    thread.join()
    after_thread = cells[0]
    here, there = SPAWNED.Pipe()
    process = SPAWNED.Process(target=change_and_tell, args=(cells, 2, there))
    with deaf():
        process.start()
    there.close()
    try:
        by_process = here.recv()
    except EOFError as error:
        raise OperatorError(
            "the process that was started died at once: is this a script or a prompt?"
        ) from error
    process.join()
    return Seen(after_thread, by_process, cells[0])
