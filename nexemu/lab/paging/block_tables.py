"""Exercise 3: how large block tables are."""

from typing import Final

from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Figure, Report, Table

SEQUENCE_TOKENS: Final = 128 << 10
BATCH: Final = 256
ENTRY_BYTES: Final = 4
BLOCKS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def entries(tokens: int, block_tokens: int) -> int:
    """Of the block table of a sequence."""
    return -(-tokens // block_tokens)


def block_tables(trial: Trial) -> Report:
    """For all sizes of block, and the exercise's two."""
    rows = [
        (str(block), count, count * ENTRY_BYTES / 1024, count * ENTRY_BYTES * BATCH / (1 << 20))
        for block in BLOCKS
        for count in [entries(SEQUENCE_TOKENS, block)]
    ]
    by_block = {row[0]: row for row in rows}
    return Report(
        "An attention kernel reads the block table at every step. The smaller the block, the more there is "
        "to read before the first key is, and the shorter the pieces in which keys then come.",
        [
            Table(
                "A sequence of 128 K tokens, entries of 4 bytes",
                ("block", "entries", "KiB", f"MiB for a batch of {BATCH}"),
                rows,
            )
        ],
        [
            Check("blocks of 16: entries", 8192, by_block["16"][1]),
            Check("blocks of 16: KiB", 32, by_block["16"][2]),
            Check("blocks of 16: MiB for the batch", 8, by_block["16"][3]),
            Check("blocks of 1: entries", 131072, by_block["1"][1]),
            Check("blocks of 1: KiB", 512, by_block["1"][2]),
            Check("blocks of 1: MiB for the batch", 128, by_block["1"][3]),
        ],
        [
            Figure(
                "Memory for block tables",
                "tokens in a block",
                "MiB for the batch",
                BLOCKS,
                {"256 sequences of 128 K tokens": [row[3] for row in rows]},
                log_x=True,
                log_y=True,
            )
        ],
    )


BLOCK_TABLES: Final = Experiment("How large block tables are", "exercise 3", block_tables)
