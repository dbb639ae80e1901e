"""Code 05, demos 2 to 4: conversations whose every turn begins with all that was said before."""

from collections.abc import Iterable, Sequence
from typing import Final

from nexemu.evict.lru import Lru
from nexemu.kv.pool import BlockPool
from nexemu.kv.radix_cache import RadixCache
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Figure, Report, Table
from nexemu.serve.request import Request
from nexemu.serve.workload import arriving, conversations

DRAW: Final = "another draw of conversations; the lecture does not give their lengths"
CONVERSATIONS: Final = 200
MANY_CONVERSATIONS: Final = 400
SHORT_RUN: Final = 29  # conversations, until the cache has the lecture's 2,080 tokens
RUNNING: Final = 5
CAPACITIES: Final = (250, 500, 1_000, 2_000, 4_000, 8_000)
EVERYTHING: Final = 1 << 30


def requests(seed: int, count: int) -> list[Request]:
    """The turns of ``count`` conversations as they arrive: one begins a second, and five seconds pass between
    turns, so that about ten are under way."""
    return arriving(conversations(seed, count), rate=1.0, pause=5.0, seed=seed)


def cached(prompts: Iterable[Sequence[int]]) -> RadixCache:
    """A tree of all ``prompts``, large enough for them."""
    cache = RadixCache(1, Lru())
    for prompt in prompts:
        cache.insert(prompt, prompt)
    return cache


def turns(trial: Trial) -> Report:
    """Demo 2: how much is the same."""
    queue = requests(trial.seed, CONVERSATIONS)
    cache = cached(request.prompt for request in queue)
    tokens = sum(len(request.prompt) for request in queue)
    nodes = sum(1 for _ in cache.nodes())
    return Report(
        "Prompts of a conversation repeat the system prompt, the examples and every turn before: stored "
        "once, a quarter of the tokens is left. A node holds a whole run of them, so that a request adds "
        "one node, and a match takes a few steps.",
        [
            Table(
                f"{len(queue)} requests of {CONVERSATIONS} conversations",
                ("stored", "tokens"),
                [("each prompt on its own", tokens), ("shared prefixes once", cache.cached_tokens)],
            )
        ],
        [
            Check("requests", 402, len(queue), DRAW),
            Check("tokens, each prompt on its own", 53_632, tokens, DRAW),
            Check("tokens, shared prefixes once", 13_088, cache.cached_tokens, DRAW),
            Check("times fewer tokens", 4.1, tokens / cache.cached_tokens, DRAW),
            Check("nodes of the radix tree", 407, nodes, "one a request, and one for each shared beginning"),
            Check("tokens in a node", 32, cache.cached_tokens / nodes, DRAW),
        ],
    )


def locks(trial: Trial) -> Report:
    """Demo 3: evict everything while some requests run."""
    queue = requests(trial.seed, SHORT_RUN)
    cache = cached(request.prompt for request in queue)
    stored = cache.cached_tokens
    running = [cache.match(request.prompt) for request in queue[-RUNNING:]]
    for match in running:
        cache.lock(match)
    evictable = stored - cache.locked_tokens
    evicted = len(cache.evict(EVERYTHING))
    whole = sum(cache.match(request.prompt).length == len(request.prompt) for request in queue[-RUNNING:])
    for match in running:
        cache.unlock(match)
    after = len(cache.evict(EVERYTHING))
    rows = [
        ("stored", stored),
        ("evictable", evictable),
        ("evicted", evicted),
        ("evicted after unlocking", after),
    ]
    return Report(
        "A running request reads all its keys and values at every step, so it locks its path up to the "
        "root. Asked for everything, the cache gives what nobody uses; the rest follows when the requests "
        "have ended.",
        [Table(f"{RUNNING} requests are running", ("tokens", ""), rows)],
        [
            Check("tokens in the cache", 2_080, stored, DRAW),
            Check("evictable while five requests run", 1_584, evictable, DRAW),
            Check("evicted, of what is evictable", "all", "all" if evicted == evictable else "not all"),
            Check("running requests whose prefix is whole", 5, whole),
            Check("evicted after they have ended", 496, after, DRAW),
            Check("left in the end", 0, cache.cached_tokens),
        ],
    )


def whole_match_hits(queue: Sequence[Request], capacity: int) -> float:
    """Per cent of prompt tokens found by a cache of whole prompts, the least recently used leaving first."""
    kept: dict[tuple[int, ...], None] = {}
    room, hits = capacity, 0
    for request in queue:
        prompt = tuple(request.prompt)
        if prompt in kept:
            hits += len(prompt)
            del kept[prompt]
            room += len(prompt)
        while room < len(prompt) and kept:
            oldest = next(iter(kept))
            del kept[oldest]
            room += len(oldest)
        if room >= len(prompt):
            kept[prompt] = None
            room -= len(prompt)
    return 100 * hits / sum(len(request.prompt) for request in queue)


def prefix_hits(queue: Sequence[Request], capacity: int) -> float:
    """Per cent of prompt tokens found in a tree of ``capacity`` tokens, to which prompts go with answers."""
    cache, pool = RadixCache(1, Lru()), BlockPool(capacity)
    hits = 0
    for request in queue:
        match = cache.match(request.prompt)
        hits += match.length
        cache.lock(match)
        text = request.prompt + request.output
        missing = len(text) - match.length
        for block in cache.evict(missing - pool.free_blocks):
            pool.kfree(block)
        fresh = [pool.kalloc() for _ in range(min(missing, pool.free_blocks))]
        inserted = cache.insert(text[: match.length + len(fresh)], [*cache.blocks(match), *fresh])
        for block in fresh[: inserted.known - match.length]:
            pool.kfree(block)
        cache.unlock(match)
    return 100 * hits / sum(len(request.prompt) for request in queue)


def hits(trial: Trial) -> Report:
    """Demo 4: whole prompts against prefixes."""
    queue = requests(trial.seed, MANY_CONVERSATIONS)
    whole = [whole_match_hits(queue, capacity) for capacity in CAPACITIES]
    prefix = [prefix_hits(queue, capacity) for capacity in trial.steps("replaying", CAPACITIES)]
    rows = list(zip(map(str, CAPACITIES), whole, prefix, strict=True))
    return Report(
        "No prompt of a conversation is ever repeated as a whole, so a cache of whole prompts never hits. A "
        "prefix is: even 500 tokens keep the system prompt and the examples, since everybody uses them. What "
        "is missed in the end is what was never said before: the new questions.",
        [Table("Hit rate by tokens, %", ("capacity, tokens", "whole prompts", "prefixes"), rows)],
        [
            Check("requests", 808, len(queue), DRAW),
            Check("whole prompts: hit rate at any capacity, %", 0, int(max(whole))),
            Check("prefixes: hit rate with 500 tokens, %", 63, prefix[CAPACITIES.index(500)], DRAW),
            Check("prefixes: hit rate with room for all, %", 89, prefix[-1], DRAW),
        ],
        [
            Figure(
                "Hit rate over capacity",
                "tokens that the cache holds",
                "hit rate, %",
                CAPACITIES,
                {"prefixes": prefix, "whole prompts": whole},
                log_x=True,
            )
        ],
    )


TURNS: Final = Experiment("What conversations share", "code 05, demo 2", turns)
LOCKS: Final = Experiment("What runs is not evicted", "code 05, demo 3", locks)
HITS: Final = Experiment("Prefixes against whole prompts", "code 05, demo 4", hits)
