"""Requests to serve: synthetic traces, each a few lines that say what is shared and how long things are.

Tokens are numbers without meaning; what matters is which requests begin with the same ones. Every
generator takes a seed, and gives the same requests for the same seed on every computer.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from nexemu.kv.prefix_cache import Ints
from nexemu.serve.request import SECOND, Request


class Writer:
    """Writes tokens that nobody has written before, from number ``first`` on."""

    def __init__(self, seed: int, first: int = 0) -> None:
        self.dice = np.random.default_rng(seed)
        self._written = first

    def fresh(self, length: int) -> Ints:
        """``length`` new tokens."""
        start = self._written
        self._written += length
        return array("i", range(start, start + length))

    def length(self, low: int, high: int) -> int:
        """A length from ``low`` to ``high``, both included."""
        return int(self.dice.integers(low, high + 1))

    def long_tailed(self, mean: float, sigma: float, most: int) -> int:
        """A log-normal length of about this mean, from 1 to ``most``."""
        drawn = self.dice.lognormal(np.log(mean) - sigma * sigma / 2, sigma)
        return int(min(max(drawn, 1), most))


@dataclass(frozen=True, slots=True)
class Chat:
    """How conversations look: every prompt is a system prompt, the application's examples, all earlier
    questions and answers, and a new question."""

    applications: int = 4
    system: int = 40
    examples: int = 46
    question: tuple[int, int] = (8, 22)
    answer: tuple[int, int] = (16, 50)
    turns: tuple[int, int] = (1, 3)


def conversations(seed: int, count: int, chat: Chat | None = None) -> list[list[Request]]:
    """Conversations, each a list of its turns; nothing has arrived yet."""
    chat = chat or Chat()
    writer = Writer(seed)
    system = writer.fresh(chat.system)
    openings = [system + writer.fresh(chat.examples) for _ in range(chat.applications)]
    made = []
    for program in range(count):
        history = openings[writer.length(0, chat.applications - 1)]
        turns = []
        for _ in range(writer.length(*chat.turns)):
            prompt = history + writer.fresh(writer.length(*chat.question))
            answer = writer.fresh(writer.length(*chat.answer))
            turns.append(Request(0, prompt, answer, chat.answer[1], program))
            history = prompt + answer
        made.append(turns)
    return made


def arriving(turns: Sequence[Sequence[Request]], rate: float, pause: float, seed: int) -> list[Request]:
    """Programs that begin at ``rate`` a second at random (Poisson), each turn ``pause`` seconds after the one
    before, on average."""
    dice = np.random.default_rng([seed, 1])
    begun = np.cumsum(dice.exponential(1 / rate, len(turns)))
    requests = []
    for start, program in zip(begun, turns, strict=True):
        moments = start + np.cumsum([0.0, *dice.exponential(pause, len(program) - 1)])
        requests += [
            replace(turn, arrival=int(moment * SECOND)) for moment, turn in zip(moments, program, strict=True)
        ]
    return sorted(requests, key=lambda request: request.arrival)


def chat(seed: int, count: int, rate: float) -> list[Request]:
    """Chats with long system prompts: everything but the question was there before."""
    shape = Chat(system=256, examples=256, question=(20, 100), answer=(50, 300), turns=(1, 6))
    return arriving(conversations(seed, count, shape), rate, 20.0, seed)


def unique(seed: int, count: int, rate: float) -> list[Request]:
    """Requests that share nothing, with long-tailed lengths, as people write them."""
    writer = Writer(seed)
    programs = [
        [
            Request(
                0,
                writer.fresh(writer.long_tailed(160, 1.2, 1536)),
                writer.fresh(writer.long_tailed(180, 1.0, 512)),
                512,
                program,
            )
        ]
        for program in range(count)
    ]
    return arriving(programs, rate, 0.0, seed)


def documents(seed: int, count: int, rate: float) -> list[Request]:
    """Questions about long documents, of which some are asked about all the time (Zipf)."""
    writer = Writer(seed)
    texts = [writer.fresh(writer.length(1000, 4000)) for _ in range(24)]
    popularity = np.arange(1, len(texts) + 1) ** -1.0
    asked = writer.dice.choice(len(texts), count, p=popularity / popularity.sum())
    programs = [
        [
            Request(
                0,
                texts[document] + writer.fresh(writer.length(10, 40)),
                writer.fresh(writer.length(20, 120)),
                128,
                program,
            )
        ]
        for program, document in enumerate(asked)
    ]
    return arriving(programs, rate, 0.0, seed)


WORKLOADS: Final[Mapping[str, Callable[[int, int, float], list[Request]]]] = {
    "chat": chat,
    "unique": unique,
    "documents": documents,
}
"""Generators by name: a seed, how many programs, and how many begin a second."""
