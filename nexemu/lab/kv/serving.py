"""What memory management does for a server: the same requests on nine memories, and under six schedulers.

The papers' claims in small: Kwon et al., "PagedAttention" (2023), sections 3.1 and 6; Zheng et al.,
"SGLang" (2024).
"""

from typing import Final

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Cell, Check, Figure, Report, Table
from nexemu.serve.metrics import Summary, summarize
from nexemu.serve.setup import MEMORIES, Setting, serve
from nexemu.serve.workload import WORKLOADS

COUNT: Final = 300
CONVERSATIONS: Final = 300
RATE: Final = 24.0
RATES: Final = (2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0)
CURVES: Final = ("max", "pow2", "oracle", "paged")
SHARING: Final = ("paged", "prefix", "radix", "tiered")
CHATS: Final = 120
CHAT_RATE: Final = 3.0
QUEUES: Final = ("fcfs", "sjf", "plas", "longest-prefix")
BUSY_RATE: Final = 8.0
COLUMNS: Final = (
    "tokens/s",
    "served well, %",
    "first token, ms",
    "p99",
    "a token, ms",
    "cached, %",
    "running",
    "memory that stores tokens, %",
)


def cells(summary: Summary) -> tuple[float, ...]:
    """A row under :data:`COLUMNS`."""
    return (
        summary.tokens_per_second,
        100 * summary.served_well,
        summary.first_token.mean,
        summary.first_token.p99,
        summary.per_token.mean,
        100 * summary.hit_rate,
        summary.running,
        100 * summary.usage["stored"],
    )


def paging(trial: Trial) -> Report:
    """Requests that share nothing: what reserving costs."""
    queue = WORKLOADS["unique"](trial.seed, COUNT, RATE)
    names = [name for name in MEMORIES if name not in SHARING or name == "paged"]
    found = {name: summarize(serve(queue, name, "fcfs", Setting())) for name in trial.steps("serving", names)}
    paged, most, best = found["paged"], found["max"], found["oracle"]
    return Report(
        "Who reserves the longest output runs four requests at once, and one slot in twenty stores "
        "something. Blocks run eight times as many on the same memory. They even beat the oracle, which "
        "knows every length but has to reserve all of it at the start.",
        [
            Table(
                f"{COUNT} requests, {RATE:.0f} a second, that share nothing",
                ("memory", *COLUMNS),
                [(name, *cells(summary)) for name, summary in found.items()],
            )
        ],
        [
            Check(
                "longest reserved: slots that store something",
                "20.4 % to 38.2 %",
                f"{100 * most.usage['stored']:.0f} %",
                "of all slots, the free ones included; and shorter requests",
            ),
            Check(
                "throughput, blocks over longest reserved",
                "2 to 4",
                paged.tokens_per_second / most.tokens_per_second,
                "the longest allowed is further from the usual here",
            ),
            Check(
                "throughput, blocks over the oracle",
                "above 1",
                paged.tokens_per_second / best.tokens_per_second,
            ),
        ],
        [_over_load(trial)],
    )


def _over_load(trial: Trial) -> Figure:
    loads = [WORKLOADS["unique"](trial.seed, COUNT, rate) for rate in RATES]
    lines = {
        name: [summarize(serve(load, name, "fcfs", Setting())).first_token.mean for load in loads]
        for name in trial.steps("serving at every rate", CURVES)
    }
    return Figure(
        "Time to the first token over load", "requests a second", "mean time, ms", RATES, lines, log_y=True
    )


def sharing(trial: Trial) -> Report:
    """Conversations and documents: what a prefix cache is worth."""
    tables = []
    ratios = {}
    for load, count, rate in (("chat", CHATS, CHAT_RATE), ("documents", COUNT, CHAT_RATE)):
        queue = WORKLOADS[load](trial.seed, count, rate)
        made = trial.steps(f"serving {load}", SHARING)
        found = {name: summarize(serve(queue, name, "fcfs", Setting())) for name in made}
        rows: list[tuple[Cell, ...]] = [(name, *cells(summary)) for name, summary in found.items()]
        tables.append(Table(f"{load}: {len(queue)} requests", ("memory", *COLUMNS), rows))
        ratios[load] = found["paged"].first_token.mean / found["radix"].first_token.mean
    return Report(
        "Most of a prompt was there before, and computing it is most of the work. A prefix cache makes the "
        "first token many times faster on the same memory. The block index and the tree find the same; "
        "tiers below the device find what it had to forget.",
        tables,
        [
            Check("chat: first token, blocks alone over a tree", "above 1", ratios["chat"]),
            Check("documents: the same", "above 1", ratios["documents"]),
        ],
    )


def queues(trial: Trial) -> Report:
    """More conversations than the server can take: who goes first."""
    queue = WORKLOADS["chat"](trial.seed, CONVERSATIONS, BUSY_RATE)
    found = {
        name: summarize(serve(queue, "radix", name, Setting())) for name in trial.steps("serving", QUEUES)
    }
    return Report(
        "Under load the queue decides. Who has most in the cache first: more hits, for nobody has come in "
        "between; short ones first, or the least served conversation first: most are served well, and a few "
        "wait for long.",
        [
            Table(
                f"{len(queue)} requests of {CONVERSATIONS} conversations",
                ("scheduler", *COLUMNS),
                [(name, *cells(summary)) for name, summary in found.items()],
            )
        ],
        [
            Check(
                "cached, longest prefix first over first come, first served",
                "above 1",
                found["longest-prefix"].hit_rate / found["fcfs"].hit_rate,
            ),
            Check(
                "served well, shortest job first over first come, first served",
                "above 1",
                found["sjf"].served_well / found["fcfs"].served_well,
            ),
        ],
    )


PAGING: Final = Experiment("Serving with blocks", "PagedAttention, section 6", paging)
SHARING_PREFIXES: Final = Experiment(
    "Serving with a prefix cache", "SGLang; the lecture, section 5.4", sharing
)
QUEUES_OF_REQUESTS: Final = Experiment("Who is admitted next", "the lecture, section 2.8", queues)
