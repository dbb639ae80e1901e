"""From a GGUF file to an image folder: NexOS's asset files plus TOK.BIN."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nexemu.model.assets import config_bytes, floats_bytes, layer_bytes, matrix_bytes, rope_table
from nexemu.model.cache import layer_file
from nexemu.model.geometry import Geometry
from nexemu.model.gguf_file import GgufFile
from nexemu.model.image import DEFAULT_PROMPT, write_info, write_request
from nexemu.model.progress import Advance
from nexemu.model.tokenizer import Tokenizer
from nexemu.model.vocabulary import from_gguf
from nexemu.model.weights import Layer, Weights, quantise_rows

EXPECTED: Final = (7042,)
"""The token of " Paris": what SmolLM2 says after the default prompt, in float32 as in int8."""


def convert(gguf: GgufFile, folder: Path, provenance: Mapping[str, str], advance: Advance) -> None:
    """Fill ``folder`` with the image of ``gguf``. ``advance`` is called once a layer, and once before."""
    write_weights(gguf, folder, advance)
    write_request(folder, Tokenizer(from_gguf(gguf)), DEFAULT_PROMPT, EXPECTED)
    write_info(folder, provenance)


def write_weights(weights: Weights, folder: Path, advance: Advance) -> None:
    """The files of the geometry and of the numbers."""
    geometry = weights.geometry
    (folder / "CFG.BIN").write_bytes(config_bytes(geometry))
    (folder / "ROP.BIN").write_bytes(floats_bytes(rope_table(geometry)))
    (folder / "NRM.BIN").write_bytes(floats_bytes(weights.final_norm()))
    (folder / "EMB.BIN").write_bytes(matrix_bytes(quantise_rows(weights.embedding())))
    advance()
    for index in range(geometry.layers):
        (folder / layer_file(index)).write_bytes(_quantised(geometry, weights.layer(index)))
        advance()


def _quantised(geometry: Geometry, layer: Layer) -> bytes:
    matrices = {shape.name: quantise_rows(getattr(layer, shape.name)) for shape in geometry.matrices}
    return layer_bytes(geometry, layer.input_norm, layer.post_norm, matrices)
