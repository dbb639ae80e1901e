"""Demo 4 and exercise 4: copies of a prompt that are made when they are written, in the KV block manager."""

from typing import Final

from nexemu.kv.block_manager import BlockManager
from nexemu.kv.block_table import Copy
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Report, Table

BLOCK_TOKENS: Final = 16
PROMPT: Final = 1_024
SAMPLES: Final = 8
ANSWER: Final = 200
PROMPTS: Final = (1_008, 1_009, 1_016, 1_017, 1_024)
"""Around the lecture's, on both sides of where a number of blocks changes."""

BEAMS: Final = 4
BEAM_PROMPT: Final = 1_000
BEAM_STEPS: Final = 32

POOL: Final = 5_000
"""Blocks, more than any of these needs."""

ALIGNED: Final = "672 = 64 + 8 x (63 + 13) is for a prompt of 1,009 to 1,016 tokens"


def sampled(prompt: int, copied_at_once: bool, parent_stays: bool = True) -> int:
    """Blocks in use after ``SAMPLES`` answers to one prompt."""
    manager = BlockManager(POOL, BLOCK_TOKENS, prefix_caching=False)
    parent, tokens = 0, [0] * prompt
    manager.allocate(parent, tokens)
    for sample in range(1, SAMPLES + 1):
        if copied_at_once:
            manager.allocate(sample, tokens)
        else:
            manager.fork(parent, sample)
        for _ in range(ANSWER):
            manager.append(sample, 0)
    if not parent_stays:
        manager.free(parent)
    return manager.pool.used_blocks


def copies_written(prompt: int) -> int:
    """Blocks that copy-on-write copies for the same answers."""
    copies: list[Copy] = []
    manager = BlockManager(POOL, BLOCK_TOKENS, prefix_caching=False, on_copy=copies.append)
    manager.allocate(0, [0] * prompt)
    for sample in range(1, SAMPLES + 1):
        manager.fork(0, sample)
        manager.append(sample, 0)
    return len(copies)


def cow(trial: Trial) -> Report:
    """Prompts around the lecture's, both ways."""
    columns = (
        "prompt",
        "copied, without the prompt's own",
        "copied, with it",
        "copy-on-write",
        "of these copied",
    )
    rows = [
        (
            f"{prompt:,}",
            sampled(prompt, True, parent_stays=False),
            sampled(prompt, True),
            sampled(prompt, False),
            copies_written(prompt),
        )
        for prompt in PROMPTS
    ]
    whole, shared = sampled(PROMPT, True), sampled(PROMPT, False)
    return Report(
        "Sharing the prompt saves three quarters. 1,024 tokens fill 64 blocks, so each answer begins a "
        "block of its own: copies take 8 x (64 + 13) = 616 blocks, 680 with the prompt's. The lecture's 672 "
        "and its one block copied for each answer are those of a prompt whose last block is only begun. "
        "Copy-on-write takes 168 for both.",
        [Table(f"Blocks of {BLOCK_TOKENS} in use: {SAMPLES} answers of {ANSWER} tokens", columns, rows)],
        [
            Check("every answer with a copy, the prompt's own blocks included", 672, whole, ALIGNED),
            Check("the same without the prompt's own blocks", 672, rows[-1][1], ALIGNED),
            Check("the same for a prompt of 1,009 tokens, its own blocks included", 672, rows[1][2]),
            Check("copy-on-write", 168, shared),
            Check("how many times fewer", 4, round(whole / shared, 2), "680 / 168"),
            Check(
                "blocks copied for each answer",
                1,
                copies_written(PROMPT) / SAMPLES,
                "none where the prompt ends with a full block; 1 for 1,009 to 1,016 tokens",
            ),
        ],
    )


def beam_copies(
    copied_at_once: bool, prompt: int = BEAM_PROMPT, width: int = BEAMS, steps: int = BEAM_STEPS
) -> list[int]:
    """Blocks copied in each step of a beam search in which one candidate always leaves the others behind, so
    that all but one are forked from it."""
    copies: list[Copy] = []
    manager = BlockManager(POOL, BLOCK_TOKENS, prefix_caching=False, on_copy=copies.append)
    manager.allocate(0, [0] * prompt)
    counts = []
    for step in range(steps):
        for beam in range(1, width):
            manager.fork(0, beam)
        whole = (width - 1) * len(manager.table(0))
        copies.clear()
        for beam in range(width):
            manager.append(beam, step)
        counts.append(whole if copied_at_once else len(copies))
        for beam in range(1, width):
            manager.free(beam)
    return counts


def beam(trial: Trial) -> Report:
    """The exercise's question, for a number of steps."""
    whole, shared = beam_copies(True), beam_copies(False)
    rows = [(str(step + 1), whole[step], shared[step]) for step in range(0, BEAM_STEPS, 4)]
    return Report(
        "A fork that copies everything copies the prompt again at each step; copy-on-write copies the one "
        "block that is written and shared, and nothing where a step begins a new block.",
        [
            Table(
                f"Blocks copied in a step: {BEAMS} candidates, a prompt of {BEAM_PROMPT:,}",
                ("step", "copied at once", "copy-on-write"),
                rows,
            )
        ],
        [
            Check("blocks of the prompt", 63, -(-BEAM_PROMPT // BLOCK_TOKENS)),
            Check("copied at once: blocks in the first step", 189, whole[0]),
            Check("copy-on-write: blocks in a step, at most", 3, max(shared)),
        ],
    )


COW: Final = Experiment("Copy-on-write of a prompt", "code 03, demo 4", cow)
BEAM: Final = Experiment("Copy-on-write in beam search", "exercise 4", beam)
