"""The course notes' sizes of KV caches."""

import pytest

from nexemu.kv.size import LLAMA3_8B, QWEN3_32B, SMOLLM2_135M
from nexemu.serve.costs import Costs


def test_thirty_two_requests_of_2048_tokens_to_qwen3_32b_take_16_gib():
    assert QWEN3_32B.total_bytes(2048, sequences=32) == 16 << 30


def test_a_token_of_smollm2():
    assert SMOLLM2_135M.row_bytes == 768
    assert SMOLLM2_135M.token_bytes == 46_080


@pytest.mark.parametrize(
    ("tokens", "pages"), [(0, 0), (1, 60), (5, 60), (6, 120), (13, 180), (16, 180), (17, 240), (256, 2880)]
)
def test_pages_of_smollm2(tokens, pages):
    """13 is the notes' prompt of 3 and 10 generated tokens, 256 what smolprobe reserves."""
    assert SMOLLM2_135M.pages(tokens) == pages


def test_the_default_costs_are_those_of_a_model_of_eight_billion_weights():
    assert Costs().token_bytes == LLAMA3_8B.token_bytes == 128 << 10
