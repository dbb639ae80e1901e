"""Public implementations beside ours: found in a checkout, loaded without the package around them, driven."""

import sys
from unittest.mock import patch

import pytest

from nexemu.bench import kv_peers
from nexemu.bench.probe import NotHere

BLOCK_MANAGER = """
class Sequence:
    block_size = 0
    def __init__(self, tokens):
        self.tokens, self.blocks = tokens, 0
    def append_token(self, token):
        self.tokens.append(token)

class BlockManager:
    made = []
    def __init__(self, blocks, size):
        self.free, self.size, self.hashed = blocks, size, 0
        self.made.append(self)
    def allocate(self, sequence, cached):
        assert cached == 0
        self.free -= 1
    def can_append(self, sequence):
        return self.free > 0
    def may_append(self, sequence):
        self.free -= len(sequence.tokens) % self.size == 1
    def hash_blocks(self, sequence):
        assert sequence.num_scheduled_tokens == 1
        assert sequence.num_cached_tokens == len(sequence.tokens) - 1
        self.hashed += 1
"""


@pytest.fixture(autouse=True)
def modules():
    with patch.dict(sys.modules):
        yield


def test_the_module_is_loaded_without_the_package_around_it(tmp_path):
    engine = tmp_path / "nano-vllm" / "nanovllm" / "engine"
    engine.mkdir(parents=True)
    engine.with_name("__init__.py").write_text("raise ImportError('this wants a GPU')")
    (engine / "block_manager.py").write_text(BLOCK_MANAGER)
    module = kv_peers.nano_vllm(tmp_path)
    assert kv_peers.append(module, rounds=9, sequences=2, block_tokens=4) > 0
    (manager,) = module.BlockManager.made
    assert module.Sequence.block_size == 4
    assert manager.hashed == 2 * 9
    assert manager.free == (9 // 4 + 2) * 2 - 2 * 3, "ten tokens each take three blocks"


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(NotHere, match=f"nano-vllm: there is no {tmp_path}/nano-vllm/nanovllm"):
        kv_peers.nano_vllm(tmp_path)
    kernel = tmp_path / "mini-sglang" / "python" / "minisgl" / "kernel"
    kernel.mkdir(parents=True)
    (kernel / "radix.py").write_text("import a_library_that_is_nowhere")
    with pytest.raises(NotHere, match="mini-sglang: No module named 'a_library_that_is_nowhere'"):
        kv_peers.mini_sglang(tmp_path)
