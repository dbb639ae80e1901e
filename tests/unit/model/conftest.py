"""A cache of one's own for each test, a tiny model, and the real one."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from nexemu.model.assets import AssetFolder
from nexemu.model.ensure import smollm2_image
from nexemu.model.fetch import fetch
from nexemu.model.geometry import Geometry
from nexemu.model.gguf_file import GgufFile
from nexemu.model.reference import Reference
from nexemu.model.vocabulary import byte_characters


@pytest.fixture
def cache_home(tmp_path, monkeypatch):
    monkeypatch.setenv("NEXEMU_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """pip may look into one empty folder only, which is returned."""
    links = tmp_path / "links"
    links.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return links


TINY = Geometry(
    dim=64,
    hidden=96,
    layers=2,
    heads=4,
    kv_heads=2,
    vocab=300,
    seq_len=512,
    runtime_seq_len=256,
    rms_eps=1e-5,
    rope_theta=100_000.0,
)


@pytest.fixture
def tiny():
    return TINY


@pytest.fixture(scope="session")
def tiny_gguf_path(tmp_path_factory):
    """A GGUF file in SmolLM2's formats: 300 tokens, of which 41 come of merges, and noise for weights."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = GGUFWriter(path, "llama")
    _add_sizes(writer, TINY)
    _add_vocabulary(writer)
    rng = np.random.default_rng(3)
    q8, q4, f32 = (GGMLQuantizationType[name] for name in ("Q8_0", "Q4_1", "F32"))
    _add_tensor(writer, "token_embd.weight", rng.normal(0, 1, (TINY.vocab, TINY.dim)), q8)
    _add_tensor(writer, "output_norm.weight", rng.normal(1, 0.1, TINY.dim), f32)
    names = dict(zip(("q", "k", "v", "o"), ("attn_q", "attn_k", "attn_v", "attn_output"), strict=True))
    names |= {name: f"ffn_{name}" for name in ("gate", "up", "down")}
    for layer in range(TINY.layers):
        for norm in ("attn_norm", "ffn_norm"):
            _add_tensor(writer, f"blk.{layer}.{norm}.weight", rng.normal(1, 0.1, TINY.dim), f32)
        for name, rows, cols in TINY.matrices:
            values = rng.normal(0, cols**-0.5, (rows, cols))
            _add_tensor(writer, f"blk.{layer}.{names[name]}.weight", values, q4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_sizes(writer, g):
    writer.add_embedding_length(g.dim)
    writer.add_feed_forward_length(g.hidden)
    writer.add_block_count(g.layers)
    writer.add_head_count(g.heads)
    writer.add_head_count_kv(g.kv_heads)
    writer.add_vocab_size(g.vocab)
    writer.add_context_length(g.seq_len)
    writer.add_layer_norm_rms_eps(g.rms_eps)
    writer.add_rope_freq_base(g.rope_theta)


def _add_vocabulary(writer):
    spelling = {byte: character for character, byte in byte_characters().items()}
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
    tokens = ["<|im_start|>", "<|im_end|>", "<|x|>", *(spelling[b] for b in range(256))]
    tokens += [spelling[ord(" ")] + letter for letter in letters]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3] + [1] * 297)
    writer.add_token_merges([f"{spelling[ord(' ')]} {letter}" for letter in letters])


def _add_tensor(writer, name, values, kind):
    values = values.astype(np.float32)
    writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)


@pytest.fixture(scope="session")
def real_gguf():
    return GgufFile(fetch())


@pytest.fixture(scope="session")
def real_image():
    return AssetFolder(smollm2_image())


@pytest.fixture(scope="session")
def real_float32(real_gguf):
    return Reference(real_gguf)


@pytest.fixture(scope="session")
def real_int8(real_image):
    return Reference(real_image)
