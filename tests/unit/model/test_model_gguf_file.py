"""GGUF files: sizes, formats and llama.cpp's order of rows."""

import numpy as np
import pytest
from gguf import GGUFWriter

from nexemu.errors import OperatorError
from nexemu.model.gguf_file import GgufFile, unpermute


def test_a_heads_pairs_become_two_halves_again():
    rows = np.repeat(np.arange(12, dtype=np.float32)[:, None], 3, axis=1)
    # llama.cpp has the rows of a head of 6 as first, first partner, second, second partner, ...
    assert unpermute(rows, 2)[:, 0].tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]


def test_sizes_come_from_the_metadata(tiny_gguf_path, tiny):
    geometry = GgufFile(tiny_gguf_path).geometry
    assert (geometry.dim, geometry.heads, geometry.kv_heads, geometry.vocab) == (64, 4, 2, 300)
    assert geometry.matrices == tiny.matrices
    assert geometry.runtime_seq_len == 256


def test_tensors_are_dequantised_and_only_q_and_k_reordered(tiny_gguf_path):
    gguf = GgufFile(tiny_gguf_path)
    layer = gguf.layer(1)
    assert layer.q.dtype == np.float32
    assert (layer.q == unpermute(gguf.tensor("blk.1.attn_q.weight"), 4)).all()
    assert (layer.k == unpermute(gguf.tensor("blk.1.attn_k.weight"), 2)).all()
    assert (layer.v == gguf.tensor("blk.1.attn_v.weight")).all()
    assert layer.down.shape == (64, 96)
    assert 0.8 < layer.q.std() * 64**0.5 < 1.2


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no such thing" * 9])
def test_another_file_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(OperatorError, match=r"x\.gguf is not a GGUF file that can be read"):
        GgufFile(tmp_path / "x.gguf")


def test_another_architecture_is_refused(tmp_path):
    writer = GGUFWriter(tmp_path / "x.gguf", "qwen2")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(OperatorError, match="does not hold a model of the llama architecture"):
        GgufFile(tmp_path / "x.gguf")


def test_a_missing_field_is_named(tiny_gguf_path):
    with pytest.raises(OperatorError, match=r"has no field llama\.rope\.scale"):
        GgufFile(tiny_gguf_path).field("llama.rope.scale")
