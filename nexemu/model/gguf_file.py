"""Reading a Llama model out of a GGUF file.

Invariant: what comes out is as the model was trained, in float32: blocks dequantised, and the rows
of Q and K back in their own order. GGUF files of this family hold those rows permuted, because
llama.cpp rotates neighbours (2i, 2i+1) where the model rotates (i, i + head_dim/2).
"""

from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from nexemu.errors import OperatorError
from nexemu.model.geometry import RUNTIME_SEQ_LEN, Geometry
from nexemu.model.weights import Floats, Layer


def unpermute(matrix: Floats, heads: int) -> Floats:
    """Undo llama.cpp's reordering of Q's or K's rows: within a head, pairs become halves."""
    rows, cols = matrix.shape
    half = rows // heads // 2
    return matrix.reshape(heads, half, 2, cols).swapaxes(1, 2).reshape(rows, cols)


class GgufFile:
    """An open GGUF file of the Llama family; a :class:`~nexemu.model.weights.Weights`."""

    def __init__(self, path: Path) -> None:
        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError, IndexError) as error:
            raise OperatorError(f"{path} is not a GGUF file that can be read: {error}") from error
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        if self.field("general.architecture") != "llama":
            raise OperatorError(f"{path} does not hold a model of the llama architecture")
        self.geometry = self._geometry()

    def field(self, name: str) -> Any:
        """A metadata value as a Python number, string or list."""
        found = self._reader.get_field(name)
        if found is None:
            raise OperatorError(f"the GGUF file has no field {name}")
        return found.contents()

    def tensor(self, name: str) -> Floats:
        """A tensor in float32, its last axis the one that is contiguous."""
        found = self._tensors[name]
        return np.asarray(dequantize(found.data, found.tensor_type), dtype=np.float32)

    def embedding(self) -> Floats:
        return self.tensor("token_embd.weight")

    def final_norm(self) -> Floats:
        return self.tensor("output_norm.weight")

    def layer(self, index: int) -> Layer:
        """Layer ``index``, dequantised, its Q and K in the model's own order."""
        block = f"blk.{index}"
        return Layer(
            input_norm=self.tensor(f"{block}.attn_norm.weight"),
            post_norm=self.tensor(f"{block}.ffn_norm.weight"),
            q=unpermute(self.tensor(f"{block}.attn_q.weight"), self.geometry.heads),
            k=unpermute(self.tensor(f"{block}.attn_k.weight"), self.geometry.kv_heads),
            v=self.tensor(f"{block}.attn_v.weight"),
            o=self.tensor(f"{block}.attn_output.weight"),
            gate=self.tensor(f"{block}.ffn_gate.weight"),
            up=self.tensor(f"{block}.ffn_up.weight"),
            down=self.tensor(f"{block}.ffn_down.weight"),
        )

    def _geometry(self) -> Geometry:
        return Geometry(
            dim=self.field("llama.embedding_length"),
            hidden=self.field("llama.feed_forward_length"),
            layers=self.field("llama.block_count"),
            heads=self.field("llama.attention.head_count"),
            kv_heads=self.field("llama.attention.head_count_kv"),
            vocab=self.field("llama.vocab_size"),
            seq_len=self.field("llama.context_length"),
            runtime_seq_len=RUNTIME_SEQ_LEN,
            rms_eps=self.field("llama.attention.layer_norm_rms_epsilon"),
            rope_theta=self.field("llama.rope.freq_base"),
        )
