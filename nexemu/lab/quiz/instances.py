"""The numbers of each exercise: the lecture's own without dice, fresh ones with them; and their answers,
which the experiments compute."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from nexemu.lab.caching.belady import SEQUENCE, misses
from nexemu.lab.paging.block_tables import BATCH, ENTRY_BYTES, SEQUENCE_TOKENS, entries
from nexemu.lab.paging.cow import (
    ANSWER,
    BEAM_PROMPT,
    BEAMS,
    BLOCK_TOKENS,
    PROMPT,
    SAMPLES,
    beam_copies,
    copies_written,
    sampled,
)
from nexemu.lab.paging.thrash import ACCESS_NS, PCIE_NS, SSD_NS, largest_fault_rate
from nexemu.lab.paging.translation import PAGES, translate
from nexemu.lab.scheduling.boost import LONG, STREAM, long_job_ends
from nexemu.lab.scheduling.convoy import EXERCISE, ends, mean
from nexemu.riscv import PGSIZE

PLACES: Final = 3


@dataclass(frozen=True, slots=True)
class Instance:
    """What fills the braces of a text; ``answer`` says which of its answers holds."""

    numbers: Mapping[str, object]
    answer: str = "answer"


def listed(values: Iterable[int]) -> str:
    """With commas between them."""
    return ", ".join(map(str, values))


def by_hand(dice: Random | None) -> Instance:
    """Four jobs at once."""
    sizes = EXERCISE if dice is None else dice.sample(range(1, 10), 4)
    numbers: dict[str, object] = {"sizes": listed(sizes)}
    for name, policy in (("fcfs", "fcfs"), ("sjf", "sjf"), ("rr", "round-robin")):
        numbers[f"{name}_ends"] = listed(ends(sizes, policy))
        numbers[f"{name}_mean"] = f"{mean(sizes, policy):g}"
    return Instance(numbers)


def boost(dice: Random | None) -> Instance:
    """A long job among short ones."""
    period = 25 if dice is None else dice.choice((20, 25, 40, 50))
    never, lifted = f"{long_job_ends(None):,}", f"{long_job_ends(period):,}"
    return Instance(
        {"long": LONG, "stream": f"{STREAM:,}", "period": period, "never": never, "lifted": lifted}
    )


def translation(dice: Random | None) -> Instance:
    """One address that is mapped, and one that is not."""
    pages, inside, outside = PAGES, 5_000, 20_000
    if dice is not None:
        pages = dict(enumerate(dice.sample(range(32), 4)))
        inside, outside = dice.randrange(4 * PGSIZE), dice.randrange(4 * PGSIZE, 8 * PGSIZE)
    number, offset = divmod(inside, PGSIZE)
    return Instance(
        {
            "page": PGSIZE,
            "table": ", ".join(f"{page} -> {frame}" for page, frame in pages.items()),
            "inside": inside,
            "outside": outside,
            "number": number,
            "offset": offset,
            "frame": pages[number],
            "physical": translate(pages, [inside])[0],
            "beyond": outside // PGSIZE,
        }
    )


def cow(dice: Random | None) -> Instance:
    """Samples that share a prompt."""
    prompt = PROMPT if dice is None else dice.randrange(500, 2_000)
    copied = copies_written(prompt)
    numbers = {
        "samples": SAMPLES,
        "prompt": f"{prompt:,}",
        "answer": ANSWER,
        "page": BLOCK_TOKENS,
        "own": sampled(prompt, copied_at_once=True, parent_stays=False),
        "whole": sampled(prompt, copied_at_once=True),
        "shared": sampled(prompt, copied_at_once=False),
        "copied": copied,
    }
    return Instance(numbers, "answer" if copied else "aligned")


def block_table(dice: Random | None) -> Instance:
    """A long sequence, and a batch of them."""
    tokens, block, batch = SEQUENCE_TOKENS, BLOCK_TOKENS, BATCH
    if dice is not None:
        tokens, block, batch = dice.choice((8, 32, 64)) << 10, dice.choice((8, 32, 64)), dice.choice((32, 64))
    numbers: dict[str, object] = {"k": tokens >> 10, "block": block, "batch": batch, "bytes": ENTRY_BYTES}
    for suffix, size in (("", block), ("_1", 1)):
        count = entries(tokens, size)
        numbers[f"entries{suffix}"] = f"{count:,}"
        numbers[f"kib{suffix}"] = f"{count * ENTRY_BYTES / (1 << 10):g}"
        numbers[f"mib{suffix}"] = f"{count * ENTRY_BYTES * batch / (1 << 20):g}"
    return Instance(numbers)


def beam(dice: Random | None) -> Instance:
    """The first step of a beam search."""
    width = BEAMS if dice is None else dice.randrange(2, 9)
    prompt = BEAM_PROMPT if dice is None else dice.randrange(200, 4_000)
    whole, shared = (beam_copies(at_once, prompt, width, steps=1)[0] for at_once in (True, False))
    numbers = {
        "width": width,
        "prompt": f"{prompt:,}",
        "block": BLOCK_TOKENS,
        "blocks": -(-prompt // BLOCK_TOKENS),
        "others": width - 1,
        "whole": whole,
    }
    return Instance(numbers, "answer" if shared else "aligned")


def belady(dice: Random | None) -> Instance:
    """Twelve references to five keys."""
    sequence = SEQUENCE if dice is None else [dice.randrange(1, 6) for _ in SEQUENCE]
    missed = {policy: misses(policy, PLACES, sequence) for policy in ("fifo", "lru", "opt")}
    return Instance({"sequence": listed(sequence), "places": PLACES, **missed})


def fault_cost(dice: Random | None) -> Instance:
    """A bound on the slowdown."""
    slowdown = 2.0 if dice is None else dice.choice((1.1, 1.5, 3.0, 5.0))
    rates = {
        name: f"{100 * largest_fault_rate(slowdown, cost):.2g}"
        for name, cost in (("ssd", SSD_NS), ("pcie", PCIE_NS))
    }
    bound, gain = slowdown * ACCESS_NS, (slowdown - 1) * ACCESS_NS
    return Instance({"slowdown": f"{slowdown:g}", "bound": f"{bound:g}", "gain": f"{gain:g}", **rates})


INSTANCES: Final[Mapping[str, Callable[[Random | None], Instance]]] = {
    "by-hand": by_hand,
    "boost": boost,
    "translation": translation,
    "cow": cow,
    "block-table": block_table,
    "beam": beam,
    "belady": belady,
    "fault-cost": fault_cost,
}
"""By the name of the experiment that answers."""
