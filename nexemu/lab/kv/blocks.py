"""The course notes, sections 3.2 and 4: what is reserved in vain, and a block that two samples share."""

from typing import Final, NamedTuple

from nexemu.errors import OutOfMemory
from nexemu.kv.block_manager import BlockManager
from nexemu.kv.contiguous import ContiguousAllocator
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Report, Table

BLOCK_TOKENS: Final = 16


class Asked(NamedTuple):
    """A request of the notes: what it may become, and what it becomes."""

    name: str
    longest: int
    prompt: int
    generated: int

    @property
    def tokens(self) -> int:
        """How many slots it uses in the end."""
        return self.prompt + self.generated


ASKED: Final = (Asked("A", 2048, 7, 1 + 2), Asked("B", 512, 3, 1 + 1))
HOLES: Final = (64, 48, 96)
"""Slots that others have given back, not side by side."""


def reserved(request: Asked) -> int:
    """Slots that are empty in the end when the longest is reserved in one run."""
    return ContiguousAllocator(4096).allocate(request.longest).length - request.tokens


def paged(request: Asked) -> int:
    """Slots that are empty in the end when blocks come as they are needed."""
    manager = BlockManager(256, BLOCK_TOKENS)
    manager.allocate(0, range(request.prompt))
    for token in range(request.generated):
        manager.append(0, token)
    return manager.empty_slots


def in_pieces(wanted: int) -> tuple[int, bool]:
    """Free slots, and whether a run of ``wanted`` can be had, after requests between others have ended."""
    allocator = ContiguousAllocator(sum(HOLES) + len(HOLES) - 1)
    runs = []
    for number, hole in enumerate(HOLES):
        runs.append(allocator.allocate(hole))
        if number < len(HOLES) - 1:
            allocator.allocate(1)
    for run in runs:
        allocator.free(run)
    try:
        allocator.allocate(wanted)
    except OutOfMemory:
        return allocator.free_slots, False
    return allocator.free_slots + wanted, True


def waste(trial: Trial) -> Report:
    """Both kinds of fragmentation, and what blocks leave of them."""
    rows = [(each.name, each.longest, each.tokens, reserved(each), paged(each)) for each in ASKED]
    free, fits = in_pieces(100)
    return Report(
        "Who reserves the longest output holds two thousand slots for ten tokens. What lies between runs "
        f"is lost as well: {free} slots are free here, and a request for 100 is refused. In blocks at most "
        "the last one is not full, and any free block serves anybody.",
        [
            Table(
                "Slots of two requests",
                ("request", "may become", "becomes", "empty, reserved", f"empty, blocks of {BLOCK_TOKENS}"),
                rows,
            )
        ],
        [
            Check("A: 2,048 reserved, slots that stay empty", 2_038, reserved(ASKED[0])),
            Check("B: 512 reserved, slots that stay empty", 507, reserved(ASKED[1])),
            Check("4,096 reserved, 512 used: in vain, %", 87.5, 100 * (4096 - 512) / 4096),
            Check("free slots in pieces serve a request for 100", "no", "yes" if fits else "no"),
        ],
    )


# ---- section 4.4 ----------------------------------------------------------------------------------

SHARED: Final = ("Four", "score", "and", "seven", "years", "ago", "our")
ENDINGS: Final = ("fathers", "mothers")
HANDED_OUT: Final = (7, 1, 3)
"""The free blocks of the notes' figure, in the order in which they are taken."""


class Samples:
    """Two samples of one prompt, in blocks of four words."""

    def __init__(self) -> None:
        self.words = [*SHARED, *ENDINGS]
        self.copied: list[tuple[int, int]] = []
        self.manager = BlockManager(8, 4, on_copy=self.copied.append)
        pool = self.manager.pool
        blocks = [pool.kalloc() for _ in range(pool.total)]
        for block in sorted(blocks, key=lambda block: (*HANDED_OUT, block).index(block)):
            pool.kfree(block)
        self.manager.allocate(1, range(len(SHARED)))
        self.manager.fork(1, 2)
        self.rows = [self.row("A1 and A2 share the prompt")]

    def write(self, sample: int, word: str) -> int:
        """A sample goes on with ``word``; the block that it was written to."""
        block = self.manager.append(sample, self.words.index(word))
        self.rows.append(self.row(f"A{sample} writes {word}"))
        return block

    def row(self, what: str) -> tuple[str, str, str, str]:
        """Both tables, and the count of each block in them."""
        one, two = self.manager.table(1), self.manager.table(2)
        counts = [f"{block}: {self.manager.pool.refcount(block)}" for block in sorted({*one, *two})]
        return what, ", ".join(map(str, one)), ", ".join(map(str, two)), "   ".join(counts)


def share(trial: Trial) -> Report:
    """The notes' example, step by step, to the numbers of the blocks."""
    samples = Samples()
    first = samples.write(1, "fathers")
    count = samples.manager.pool.refcount(1)
    second = samples.write(2, "mothers")
    return Report(
        "A full block is shared for ever, since nobody writes to it again. The last block is shared until "
        "one of the two writes: that one gets a copy, and the other, now alone, writes in place.",
        [
            Table(
                "Four score and seven / years ago our ...", ("step", "A1", "A2", "block: count"), samples.rows
            )
        ],
        [
            Check("block to which A1 writes fathers", 3, first),
            Check("count of block 1 after it", 1, count),
            Check("block to which A2 writes mothers", 1, second),
            Check("blocks copied", 1, len(samples.copied)),
        ],
    )


WASTE: Final = Experiment("Slots that stay empty", "course notes, sections 3.1 and 3.2", waste)
SHARE: Final = Experiment("Two samples share a block until one writes", "course notes, section 4.4", share)
