"""Demos 2 and 3: one piece for each request, or pages; and how large a page should be."""

from typing import Final

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.paging.allocators import Allocator, Contiguous, Paged
from nexemu.lab.paging.requests import CAPACITY, LIMIT, MEAN_SIZE, Service, requests, serve
from nexemu.lab.report import Check, Figure, Report, Table

SAMPLE: Final = (
    "another draw of requests; the lecture does not give how many it had, how varied, how long they stay"
)
PAGE_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
COLUMNS: Final = (
    "allocator",
    "refused, %",
    "because of fragments, %",
    "stored in, %",
    "held in vain, %",
    "of what is held, %",
)


def allocators() -> dict[str, Allocator]:
    """New ones, as the demo compares them."""
    return {
        "first fit": Contiguous(CAPACITY, "first"),
        "best fit": Contiguous(CAPACITY, "best"),
        "worst fit": Contiguous(CAPACITY, "worst"),
        "pages of 16": Paged(CAPACITY, 16),
        "pages of 1": Paged(CAPACITY, 1),
        f"first fit, {LIMIT} reserved": Contiguous(CAPACITY, "first", reserve=LIMIT),
    }


def internal(service: Service) -> float:
    """Internal fragmentation: of what is held, the per cent that stores nothing."""
    return 100 * service.wasted / (service.stored + service.wasted)


def fragmentation(trial: Trial) -> Report:
    """The same requests, offered to each allocator."""
    queue = requests(trial.seed)
    made = trial.steps("allocating", allocators().items())
    served = {name: serve(queue, allocator) for name, allocator in made}
    rows = [
        (name, s.refused, s.refused_in_spite, s.stored, s.wasted, internal(s)) for name, s in served.items()
    ]
    first, paged, reserved = (
        served["first fit"],
        served["pages of 16"],
        served[f"first fit, {LIMIT} reserved"],
    )
    worst = max(served, key=lambda name: served[name].refused_in_spite)
    best = min(served, key=lambda name: served[name].refused)
    return Report(
        "Where sizes are known and small, fragments outside hurt little, and pages of 16 waste more inside "
        "than first fit loses. What hurts is not to know the size: who reserves the most that could be "
        "needed refuses six of seven and fills an eighth. Pages need no reserve; that is the gain of paging "
        "the KV cache.",
        [Table(f"{len(queue):,} requests of {MEAN_SIZE} on average, {CAPACITY:,} units", COLUMNS, rows)],
        [
            Check("first fit: refused because of fragments, %", 1.2, first.refused_in_spite, SAMPLE),
            Check("most refused because of fragments", "worst fit", worst),
            Check("pages of 16: internal fragmentation, %", 14, internal(paged)),
            Check("pages of 16: refused, over first fit's", "above 1", paged.refused / first.refused),
            Check("fewest refused", "pages of 1", best),
            Check("400 reserved: refused, %", 86, reserved.refused),
            Check("400 reserved: memory that stores something, %", 12, reserved.stored),
        ],
    )


def page_size(trial: Trial) -> Report:
    """The same requests, in pages of growing size."""
    queue = requests(trial.seed)
    served = {page: serve(queue, Paged(CAPACITY, page)) for page in trial.steps("allocating", PAGE_SIZES)}
    entries = {page: sum(-(-r.size // page) for r in queue) / len(queue) for page in PAGE_SIZES}
    rows = [(str(page), s.refused, internal(s), entries[page]) for page, s in served.items()]
    inside = [row[2] for row in rows]
    return Report(
        "A larger page wastes more of the last one; a smaller page needs more entries, each of which is "
        "memory to keep and to read. 16 tokens is where vLLM settles; a radix cache may go down to 1.",
        [
            Table(
                "By page size", ("page", "refused, %", "internal fragmentation, %", "entries a request"), rows
            )
        ],
        [
            Check(
                "internal fragmentation grows with the page",
                "always",
                "always" if inside == sorted(inside) else "no",
            ),
            Check("pages of 16: internal fragmentation, %", 14, internal(served[16])),
            Check(
                "entries a request, pages of 1 over pages of 16",
                "up to 16",
                entries[1] / entries[16],
                "a request has at least one entry, and its last page is not full",
            ),
        ],
        [
            _by_page("A larger page wastes more", "internal fragmentation, %", inside),
            _by_page("A smaller page needs more entries", "entries a request", list(entries.values())),
        ],
    )


def _by_page(title: str, what: str, values: list[float]) -> Figure:
    return Figure(title, "units in a page", what, PAGE_SIZES, {"pages": values}, log_x=True)


FRAGMENTATION: Final = Experiment("Fragments, and what is reserved in vain", "code 03, demo 2", fragmentation)
PAGE_SIZE: Final = Experiment("How large a page should be", "code 03, demo 3", page_size)
