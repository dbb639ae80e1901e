"""Probes of the KV library: a token more in a block table, a request through the radix tree.

The floors do what cannot be left out: a token goes into a list; a request's tokens are hashed and
compared once, as one key of a dictionary of whole prompts. Public implementations can stand beside.
"""

from array import array
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from nexemu.bench import kv_peers
from nexemu.bench.probe import Floor, Probe, Setting, cpu_seconds
from nexemu.evict.lru import Lru
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.prefix_cache import Ints
from nexemu.kv.radix_cache import RadixCache

SEQUENCES: Final = 64
BLOCK_TOKENS: Final = 16
APPENDS: Final = 1_000_000
QUICK_APPENDS: Final = 6_400

REQUESTS: Final = 20_000
QUICK_REQUESTS: Final = 200
CAPACITY: Final = 1_000_000  # tokens: requests beyond it evict
SYSTEM, TOPIC, OWN = 400, 300, 300  # tokens of a request: of its application, of its topic, its own
APPLICATIONS, TOPICS = 20, 50
REPEATED: Final = 0.3


def append(setting: Setting) -> Probe:
    """A token for one of many sequences in blocks, every full block noted in the prefix index."""
    rounds = (QUICK_APPENDS if setting.quick else APPENDS) // SEQUENCES
    floors = [Floor("a list's append", partial(_append_to_lists, rounds))]
    if setting.peers is not None:
        theirs = partial(kv_peers.append, kv_peers.nano_vllm(setting.peers), rounds, SEQUENCES, BLOCK_TOKENS)
        floors.append(Floor("nano-vllm", theirs, at_most=1.0))
    return Probe("KV: append a token", partial(_append, rounds), tuple(floors))


def _append(rounds: int) -> float:
    manager = BlockManager((rounds // BLOCK_TOKENS + 2) * SEQUENCES, BLOCK_TOKENS)
    for sequence in range(SEQUENCES):
        manager.allocate(sequence, [sequence])

    def run() -> None:
        for token in range(rounds):
            for sequence in range(SEQUENCES):
                manager.append(sequence, token)

    return cpu_seconds(run) / (rounds * SEQUENCES)


def _append_to_lists(rounds: int) -> float:
    lists: list[list[int]] = [[] for _ in range(SEQUENCES)]

    def run() -> None:
        for token in range(rounds):
            for sequence in range(SEQUENCES):
                lists[sequence].append(token)

    return cpu_seconds(run) / (rounds * SEQUENCES)


def radix(setting: Setting) -> Probe:
    """A request of 1,000 tokens: match, lock, evict if need be, insert, unlock."""
    prompts = requests(QUICK_REQUESTS if setting.quick else REQUESTS)
    floors = [Floor("a dictionary of prompts", partial(_dictionary, prompts))]
    if setting.peers is not None:
        theirs = partial(kv_peers.radix, kv_peers.mini_sglang(setting.peers), prompts, CAPACITY)
        floors.append(Floor("mini-sglang", theirs, at_most=1.0))
    return Probe("KV: radix, 1,000 tokens", partial(_radix, prompts), tuple(floors))


def requests(count: int) -> list[Ints]:
    """Prompts of 1,000 tokens that share systems and topics, some of them asked before."""
    dice = np.random.default_rng(1)
    systems = dice.integers(0, 50_000, (APPLICATIONS, SYSTEM), dtype=np.int32)
    topics = dice.integers(0, 50_000, (APPLICATIONS, TOPICS, TOPIC), dtype=np.int32)
    made: list[Ints] = []
    for _ in range(count):
        if made and dice.random() < REPEATED:
            made.append(made[int(dice.integers(max(0, len(made) - 2_000), len(made)))])
            continue
        application, topic = int(dice.integers(APPLICATIONS)), int(dice.zipf(1.3)) % TOPICS
        own = dice.integers(0, 50_000, OWN, dtype=np.int32)
        parts = (systems[application], topics[application, topic], own)
        made.append(array("i", np.concatenate(parts).tobytes()))
    return made


def _radix(prompts: Sequence[Ints]) -> float:
    cache = RadixCache(1, Lru())

    def run() -> None:
        for prompt in prompts:
            match = cache.match(prompt)
            cache.lock(match)
            missing = len(prompt) - match.length
            cache.evict(missing - (CAPACITY - cache.cached_tokens))
            cache.insert(prompt, prompt)  # any numbers do for the blocks
            cache.unlock(match)

    return cpu_seconds(run) / len(prompts)


def _dictionary(prompts: Sequence[Ints]) -> float:
    kept: dict[bytes, int] = {}

    def run() -> None:
        for number, prompt in enumerate(prompts):
            key = prompt.tobytes()
            if key not in kept:
                kept[key] = number

    return cpu_seconds(run) / len(prompts)
