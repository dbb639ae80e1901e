"""An image of seeded noise in SmolLM2's sizes, for machines that cannot get the real one.

Page counts follow from sizes alone, so they are those of the real model; only the text means nothing.
The weights are uniform, scaled so that activations neither grow nor vanish over the layers.
"""

from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator

from nexemu.model.assets import (
    AssetFolder,
    config_bytes,
    floats_bytes,
    layer_bytes,
    matrix_bytes,
    rope_table,
)
from nexemu.model.cache import layer_file
from nexemu.model.charclass import unicode_classes
from nexemu.model.geometry import SMOLLM2_135M, Geometry
from nexemu.model.image import DEFAULT_PROMPT, write_info, write_request
from nexemu.model.progress import Advance
from nexemu.model.reference import Reference
from nexemu.model.tokenizer import Tokenizer
from nexemu.model.vocabulary import Vocabulary
from nexemu.model.weights import RowQuantised

SEED: Final = 135
UNIFORM_DEVIATION: Final = 127 / 3**0.5
"""Standard deviation of integers drawn evenly from -127..127."""


def make_synthetic(folder: Path, advance: Advance, geometry: Geometry = SMOLLM2_135M) -> None:
    """Fill ``folder`` with an image. ``advance`` is called once a layer, once before and once after."""
    write_noise(folder, geometry, np.random.default_rng(SEED), advance)
    prompt = [token % geometry.vocab for token in DEFAULT_PROMPT]
    (step,) = Reference(AssetFolder(folder)).greedy(prompt, 1)
    write_request(folder, Tokenizer(numbered_vocabulary(geometry.vocab)), prompt, [step.token])
    write_info(folder, {"model": "seeded noise in SmolLM2-135M's sizes", "source": f"seed {SEED}"})
    advance()


def write_noise(folder: Path, geometry: Geometry, rng: Generator, advance: Advance) -> None:
    """The files of the geometry and of the numbers."""
    ones = np.ones(geometry.dim, np.float32)
    (folder / "CFG.BIN").write_bytes(config_bytes(geometry))
    (folder / "ROP.BIN").write_bytes(floats_bytes(rope_table(geometry)))
    (folder / "NRM.BIN").write_bytes(floats_bytes(ones))
    (folder / "EMB.BIN").write_bytes(matrix_bytes(noise(rng, geometry.vocab, geometry.dim)))
    advance()
    for index in range(geometry.layers):
        matrices = {name: noise(rng, rows, cols) for name, rows, cols in geometry.matrices}
        (folder / layer_file(index)).write_bytes(layer_bytes(geometry, ones, ones, matrices))
        advance()


def noise(rng: Generator, rows: int, cols: int) -> RowQuantised:
    """A matrix that leaves the length of a vector, on average, as it is."""
    scale = np.full(rows, 1 / (UNIFORM_DEVIATION * cols**0.5), np.float32)
    return RowQuantised(scale, rng.integers(-127, 128, (rows, cols), dtype=np.int8))


def numbered_vocabulary(size: int) -> Vocabulary:
    """The 256 bytes, then tokens that spell their own number, "<256>" and so on; nothing merges."""
    numbered = (f"<{token}>".encode() for token in range(256, size))
    tokens = (*(bytes([byte]) for byte in range(256)), *numbered)
    return Vocabulary(tokens, frozenset(), (), unicode_classes())
