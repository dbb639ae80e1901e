"""What the pieces make together: FLOP-aware eviction, tiers, ballooning, context paging.

Four systems that the lecture names, each a policy or a few lines over what is there already.
"""

from dataclasses import replace
from typing import Final

from nexemu.evict import POLICIES
from nexemu.evict import Setup as EvictorSetup
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.context import ContextWindow
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Cell, Check, Figure, Report, Table
from nexemu.serve.balloon import Tenant, serve_together
from nexemu.serve.engine import Outcome
from nexemu.serve.metrics import Summary, summarize
from nexemu.serve.paged_memory import PagedMemory
from nexemu.serve.request import SECOND, Request
from nexemu.serve.setup import MEMORIES, Setting, build, serve
from nexemu.serve.tiered_memory import TieredMemory
from nexemu.serve.workload import WORKLOADS, Writer, arriving

# ---- FLOP-aware eviction --------------------------------------------------------------------------

DOCUMENTS: Final = 3
DOCUMENT_TOKENS: Final = 8_000
EVICTORS: Final = ("lru", "lfu", "arc", "flops")
DEVICES: Final = (16_384, 24_576, 32_768, 49_152)
SHOWN: Final = 32_768


def documents_among_notes(seed: int, count: int) -> list[Request]:
    """Short questions that are asked once, and now and then one about one of three long documents."""
    writer = Writer(seed)
    texts = [writer.fresh(DOCUMENT_TOKENS) for _ in range(DOCUMENTS)]
    made = []
    for program in range(count):
        if writer.dice.random() < 0.15:
            prompt = texts[writer.length(0, DOCUMENTS - 1)] + writer.fresh(writer.length(10, 40))
        else:
            prompt = writer.fresh(writer.length(200, 600))
        made.append([Request(0, prompt, writer.fresh(writer.length(20, 60)), 64, program)])
    return arriving(made, 2.0, 0.0, seed)


def saved(outcome: Outcome, setting: Setting) -> float:
    """Per cent of all prefill work that the cache saved."""
    costs = setting.costs
    spared = sum(costs.of_prefill(0, record.cached) for record in outcome.records)
    return 100 * spared / sum(costs.of_prefill(0, len(record.request.prompt)) for record in outcome.records)


def flops(trial: Trial) -> Report:
    """Eviction by recency, by frequency, and by what it costs to compute again."""
    queue = documents_among_notes(trial.seed, 400)
    settings = [Setting(slots=slots, longest=9_000) for slots in DEVICES]
    lines = {
        evictor: [
            saved(serve(queue, "radix", "fcfs", replace(setting, evictor=evictor)), setting)
            for setting in settings
        ]
        for evictor in trial.steps("serving", EVICTORS)
    }
    shown = DEVICES.index(SHOWN)
    rows: list[tuple[Cell, ...]] = [(evictor, *values) for evictor, values in lines.items()]
    return Report(
        "Notes that nobody asks for again push long documents out, if the last use is all that counts. A "
        "token deep in a document costs more to compute, since it looks at all before it; rated by that as "
        "well, documents stay, and the work that is saved grows.",
        [Table("Prefill work saved, %, by the size of the device", ("policy", *map(str, DEVICES)), rows)],
        [Check("work saved, FLOP-aware over LRU", "above 1", lines["flops"][shown] / lines["lru"][shown])],
        [Figure("Prefill work saved", "slots on the device", "work saved, %", DEVICES, lines)],
    )


# ---- tiers ----------------------------------------------------------------------------------------

HOSTS: Final = (4_096, 16_384, 65_536)


def tiers(trial: Trial) -> Report:
    """A small device, and more and more memory below it."""
    queue = WORKLOADS["documents"](trial.seed, 300, 3.0)
    rows = [("device alone", *_tier_cells(summarize(serve(queue, "radix", "fcfs", Setting()))), 0, 0)]
    for slots in trial.steps("serving", HOSTS):
        setting = Setting(host_slots=slots)
        memory = MEMORIES["tiered"].make(setting)
        assert isinstance(memory, TieredMemory)
        summary = summarize(build(queue, memory, "fcfs", setting).run())
        rows.append(
            (f"host of {slots:,}", *_tier_cells(summary), memory.loaded["host"], memory.loaded["disk"])
        )
    return Report(
        "The device forgets documents that will be asked for again. Copying them up from the host takes a "
        "twentieth of computing them, from the disk a half: what is read back was hit, only later. With a "
        "small host the disk serves, with a large one it has nothing to do.",
        [
            Table(
                "300 questions about 24 documents",
                ("tiers", "cached, %", "first token, ms", "p99", "from the host", "from the disk"),
                rows,
            )
        ],
        [
            Check("cached, with tiers over without", "above 1", rows[-1][1] / rows[0][1]),
            Check("first token, without tiers over with", "above 1", rows[0][2] / rows[-1][2]),
        ],
    )


def _tier_cells(summary: Summary) -> tuple[float, float, float]:
    return 100 * summary.hit_rate, summary.first_token.mean, summary.first_token.p99


# ---- ballooning -----------------------------------------------------------------------------------

PERIOD: Final = 20
BURSTS: Final = 4
BURST_RATE: Final = 20.0
STEP: Final = 16  # blocks that move at once


def bursts(seed: int, phase: int) -> list[Request]:
    """Every other period of 20 seconds full of requests, beginning with period ``phase``."""
    queue = WORKLOADS["unique"](seed, int(BURSTS * PERIOD * BURST_RATE), BURST_RATE)
    period = PERIOD * SECOND
    return [
        replace(request, arrival=request.arrival + (request.arrival // period + phase) * period)
        for request in queue
    ]


def two_models(seed: int, step: int) -> list[Summary]:
    """Two models whose bursts take turns, each with half of the device's memory to begin with, and with a
    processor of its own."""
    setting = Setting()
    tenants = []
    for number in (0, 1):
        manager = BlockManager(setting.blocks, setting.block, watermark=setting.reserve, prefix_caching=False)
        memory = PagedMemory(manager, setting.costs)
        queue = bursts(seed + number, number)
        tenants.append(Tenant(build(queue, memory, "fcfs", setting), manager, setting.blocks // 2))
    serve_together(tenants, step)
    return [summarize(tenant.engine.outcome) for tenant in tenants]


def balloon(trial: Trial) -> Report:
    """Halves that stay halves, against memory that moves."""
    steps = {"halves": 0, "balloon": STEP}
    found = {name: two_models(trial.seed, steps[name]) for name in trial.steps("serving", steps)}
    rows = [
        (
            f"{name}, model {number}",
            each.tokens_per_second,
            100 * each.served_well,
            each.first_token.mean,
            each.first_token.p99,
            each.preemptions,
        )
        for name, summaries in found.items()
        for number, each in enumerate(summaries, start=1)
    ]
    well = {name: sum(each.served_well for each in summaries) for name, summaries in found.items()}
    return Report(
        "When one model is busy the other is idle, and half of the memory with it. A balloon moves free "
        "blocks to whoever has work, and each model serves its bursts as if the device were its own.",
        [
            Table(
                f"Bursts of {PERIOD} s by turns",
                ("memory", "tokens/s", "served well, %", "first token, ms", "p99", "preemptions"),
                rows,
            )
        ],
        [Check("requests served well, balloon over halves", "above 1", well["balloon"] / well["halves"])],
    )


# ---- context paging -------------------------------------------------------------------------------

WINDOW: Final = 4_000
MESSAGES: Final = 400
PAGERS: Final = ("fifo", "lru", "lfu", "arc")


def talk(seed: int, window: ContextWindow) -> int:
    """A long conversation: each message refers to a recent one, or to one of the few that matter. The
    result is how many references there were."""
    dice = Writer(seed)
    references = 0
    for message in range(MESSAGES):
        window.say(message, dice.length(20, 200))
        for _ in range(dice.length(0, 2)):
            recent = dice.dice.random() < 0.5
            back = min(dice.long_tailed(6, 1.0, MESSAGES), message)
            window.refer(message - back if recent else dice.length(0, message // 8) * 8)
            references += 1
    return references


def context(trial: Trial) -> Report:
    """A window of 4,000 tokens for a conversation of 44,000."""
    cut = ContextWindow(WINDOW, None)
    references = talk(trial.seed, cut)
    rows: list[tuple[str, float, float, int]] = [("cut off", 100 * cut.lost / references, 0.0, 0)]
    for name in trial.steps("talking", PAGERS):
        window = ContextWindow(WINDOW, POLICIES[name](EvictorSetup(WINDOW // 110)))
        talk(trial.seed, window)
        rows.append((name, 0.0, 100 * window.faults / references, window.moved))
    return Report(
        "A conversation that is cut off at the window's edge has lost what it refers to. With an archive "
        "below it nothing is lost: a reference to what is outside is a page fault, and costs computing that "
        "message again. Which policy pages best depends on the talk, as for any memory.",
        [
            Table(
                f"{references} references in {MESSAGES} messages",
                ("policy", "lost, %", "page faults, %", "tokens computed again"),
                rows,
            )
        ],
        [
            Check("references lost without paging, %", "above 0", rows[0][1]),
            Check("references lost with paging, %", 0, int(max(row[1] for row in rows[1:]))),
        ],
    )


FLOPS: Final = Experiment(
    "Eviction that knows what computing costs", "the lecture, section 4.5: Marconi", flops
)
TIERS: Final = Experiment(
    "Tiers below the device", "the lecture, sections 3.6 and 4.5: Mooncake, Strata", tiers
)
BALLOON: Final = Experiment("Two models share a device", "the lecture, section 3.6: Prism", balloon)
CONTEXT: Final = Experiment("A context window with an archive", "the lecture, section 3.6: MemGPT", context)
