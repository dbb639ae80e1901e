"""NexOS's asset files, to the byte."""

import struct

import numpy as np
import pytest

from nexemu.errors import OperatorError
from nexemu.model import assets
from nexemu.model.geometry import SMOLLM2_135M
from nexemu.model.weights import RowQuantised, quantise_rows


def test_the_configuration_is_48_bytes_of_version_1():
    words = "43464731 01000000 40020000 00060000 1e000000 09000000 03000000 00c00000 00200000 00010000"
    floats = "acc52737 0050c347"  # 1e-5 and 100000
    assert assets.config_bytes(SMOLLM2_135M) == bytes.fromhex(words + floats)


def test_a_matrix_is_its_scales_and_then_its_rows():
    matrix = RowQuantised(np.array([1, 2], np.float32), np.array([[1, -1, 2], [3, -127, 0]], np.int8))
    expected = struct.pack("<2f", 1, 2) + bytes([1, 255, 2, 3, 129, 0])
    assert assets.matrix_bytes(matrix) == expected


def test_ids_are_counted():
    assert assets.ids_bytes([504, 3575]) == bytes.fromhex("02000000 f8010000 f70d0000")


def test_rope_turns_each_pair_by_its_own_frequency():
    table = assets.rope_table(SMOLLM2_135M)
    assert table.shape == (256, 2, 32)
    assert table.nbytes == 65_536
    assert (table[0, 0] == 1).all()
    assert (table[0, 1] == 0).all()
    assert table[1, :, 0].tolist() == pytest.approx([0.5403023, 0.8414710])  # cos 1, sin 1
    # pair 16 of 32 turns by 100000^(-1/2) = 0.0031622777 a position
    assert table[100, :, 16].tolist() == pytest.approx([0.9504153, 0.3109836], abs=1e-6)


@pytest.fixture
def folder(tmp_path, tiny):
    """Two layers whose matrices hold their own number in every place."""
    (tmp_path / "CFG.BIN").write_bytes(assets.config_bytes(tiny))
    for index in range(2):
        matrices = {
            shape.name: quantise_rows(np.full((shape.rows, shape.cols), 10 * index + place, np.float32))
            for place, shape in enumerate(tiny.matrices)
        }
        norms = (np.full(tiny.dim, value, np.float32) for value in (0.25, 0.5))
        (tmp_path / f"L0{index}.BIN").write_bytes(assets.layer_bytes(tiny, *norms, matrices))
    return tmp_path


def test_layers_are_read_back_in_the_order_of_the_file(folder, tiny):
    layer = assets.AssetFolder(folder).layer(1)
    assert set(layer.input_norm.tolist()) == {0.25}
    assert set(layer.post_norm.tolist()) == {0.5}
    for place, (name, rows, cols) in enumerate(tiny.matrices):
        matrix = getattr(layer, name)
        assert matrix.shape == (rows, cols)
        assert matrix.min() == matrix.max() == pytest.approx(10 + place)


def test_q_comes_right_after_the_norms_and_down_is_last(folder, tiny):
    data = (folder / "L01.BIN").read_bytes()
    assert len(data) == assets.layer_size(tiny)
    first_scale, last_q = struct.unpack_from("<f", data, 8 * tiny.dim)[0], data[-1]
    assert first_scale == pytest.approx(10 / 127)
    assert last_q == 127


def test_the_geometry_is_read_back(folder, tiny):
    read = assets.AssetFolder(folder).geometry
    assert (read.dim, read.vocab, read.runtime_seq_len) == (tiny.dim, tiny.vocab, tiny.runtime_seq_len)
    assert (read.rms_eps, read.rope_theta) == (np.float32(1e-5), 100_000)


def test_a_file_of_the_wrong_size_is_named(folder):
    with open(folder / "L01.BIN", "ab") as file:
        file.write(b"x")
    with pytest.raises(OperatorError, match=r"L01\.BIN has \d+ bytes where \d+ belong"):
        assets.AssetFolder(folder).layer(1)


def test_a_file_that_is_missing_is_named(folder):
    with pytest.raises(OperatorError, match=r"cannot read .*EMB\.BIN: No such file"):
        assets.AssetFolder(folder).embedding()


@pytest.mark.parametrize(
    "data", [b"", b"CFG2" + bytes(44), bytes(84), struct.pack("<12I", 0x31474643, 2, *[1] * 10)]
)
def test_another_configuration_is_refused(folder, data):
    (folder / "CFG.BIN").write_bytes(data)
    with pytest.raises(OperatorError, match=r"CFG\.BIN is not a version 1 model configuration"):
        assets.AssetFolder(folder)
