"""The loop that a token is measured against does a token's multiply-adds."""

from pathlib import Path

import pytest
from smolprobe_machine import run_guest

from nexemu.model.geometry import SMOLLM2_135M

SOURCE = Path(__file__).parents[3] / "smolprobe" / "packed_loop.c"


@pytest.mark.slow
def test_it_counts_a_multiply_add_for_each_weight(compile_guest):
    g = SMOLLM2_135M
    weights = g.vocab * g.dim + g.layers * sum(shape.rows * shape.cols for shape in g.matrices)
    ran = run_guest([b"packed_loop", b"2"], compile_guest(SOURCE), memory=256 << 20)
    assert (ran.status, ran.lines) == (0, [f"{weights} multiply-adds"] * 2)
