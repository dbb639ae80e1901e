"""Demo 3: to send something and have it back: by a call, from another thread, from another process."""

from collections.abc import Mapping
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Final

from nexemu.lab.processes.samples import Samples, timed
from nexemu.lab.processes.sharing import SPAWNED, deaf

CALLS: Final = 100_000
TRIPS: Final = 1_000
TIMES: Final = 7
STOP: Final = -1


def echo(value: int) -> int:
    """Somebody to send to."""
    return value


def by_call() -> Samples:
    """A function, in a loop whose own time is part of it."""

    def calls() -> None:
        for value in range(CALLS):
            echo(value)

    return timed(calls, TIMES, CALLS)


def by_thread() -> Samples:
    """A thread behind two queues."""
    there: SimpleQueue[int] = SimpleQueue()
    back: SimpleQueue[int] = SimpleQueue()

    def answer() -> None:
        while (value := there.get()) != STOP:
            back.put(value)

    def trips() -> None:
        for value in range(TRIPS):
            there.put(value)
            back.get()

    thread = Thread(target=answer)
    thread.start()
    try:
        return timed(trips, TIMES, TRIPS)
    finally:
        there.put(STOP)
        thread.join()


def answer_over(pipe: Connection) -> None:
    """The other process: send back whatever comes."""
    while (value := pipe.recv()) != STOP:
        pipe.send(value)


def by_process() -> Samples:
    """A process behind a pipe."""
    here, there = SPAWNED.Pipe()
    process = SPAWNED.Process(target=answer_over, args=(there,))
    with deaf():
        process.start()

    def trips() -> None:
        for value in range(TRIPS):
            here.send(value)
            here.recv()

    try:
        return timed(trips, TIMES, TRIPS)
    finally:
        here.send(STOP)
        process.join()


def round_trips() -> Mapping[str, Samples]:
    """All three."""
    return {"function call": by_call(), "another thread": by_thread(), "another process": by_process()}
