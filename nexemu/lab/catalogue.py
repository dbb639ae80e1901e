"""All experiments, by the name under which they are asked for, in the order of the lecture."""

from collections.abc import Mapping
from typing import Final

from nexemu.lab.caching.belady import BELADY
from nexemu.lab.caching.hit_rates import CURVE, FAILURES, POPULAR
from nexemu.lab.experiment import Experiment
from nexemu.lab.kv import KV_EXPERIMENTS
from nexemu.lab.paging.block_tables import BLOCK_TABLES
from nexemu.lab.paging.cow import BEAM, COW
from nexemu.lab.paging.fragmentation import FRAGMENTATION, PAGE_SIZE
from nexemu.lab.paging.live import LIVE
from nexemu.lab.paging.thrash import FAULT_COST, THRASH
from nexemu.lab.paging.translation import TRANSLATION
from nexemu.lab.processes.experiment import PROCESS
from nexemu.lab.scheduling.boost import BOOST
from nexemu.lab.scheduling.convoy import BY_HAND, CONVOY_EFFECT
from nexemu.lab.scheduling.prediction import PREDICTION
from nexemu.lab.scheduling.priority import PRIORITY
from nexemu.lab.scheduling.programs import PROGRAMS_OF_CALLS
from nexemu.lab.scheduling.quantum import QUANTUM_LENGTH
from nexemu.lab.scheduling.shares import SHARES
from nexemu.lab.scheduling.tails import TAILS

EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    "process": PROCESS,
    "convoy": CONVOY_EFFECT,
    "tails": TAILS,
    "quantum": QUANTUM_LENGTH,
    "prediction": PREDICTION,
    "programs": PROGRAMS_OF_CALLS,
    "priority": PRIORITY,
    "shares": SHARES,
    "by-hand": BY_HAND,
    "boost": BOOST,
    "translation": TRANSLATION,
    "fragments": FRAGMENTATION,
    "page-size": PAGE_SIZE,
    "cow": COW,
    "thrash": THRASH,
    "thrash-live": LIVE,
    "block-table": BLOCK_TABLES,
    "beam": BEAM,
    "fault-cost": FAULT_COST,
    "zipf": POPULAR,
    "patterns": FAILURES,
    "belady": BELADY,
    "curve": CURVE,
    **KV_EXPERIMENTS,
}
