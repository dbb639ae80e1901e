"""The KV cache: the course notes on copy-on-write, section 5 of the lecture, and what servers add to it."""

from collections.abc import Mapping
from typing import Final

from nexemu.lab.experiment import Experiment
from nexemu.lab.kv.blocks import SHARE, WASTE
from nexemu.lab.kv.compositions import BALLOON, CONTEXT, FLOPS, TIERS
from nexemu.lab.kv.sentences import SENTENCE_TREE, SPLIT
from nexemu.lab.kv.serving import PAGING, QUEUES_OF_REQUESTS, SHARING_PREFIXES
from nexemu.lab.kv.turns import HITS, LOCKS, TURNS

KV_EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    "kv-waste": WASTE,
    "kv-share": SHARE,
    "kv-tree": SENTENCE_TREE,
    "kv-turns": TURNS,
    "kv-locks": LOCKS,
    "kv-hits": HITS,
    "kv-split": SPLIT,
    "kv-paging": PAGING,
    "kv-prefixes": SHARING_PREFIXES,
    "kv-queues": QUEUES_OF_REQUESTS,
    "kv-flops": FLOPS,
    "kv-tiers": TIERS,
    "kv-balloon": BALLOON,
    "kv-context": CONTEXT,
}
"""The experiments by name."""
