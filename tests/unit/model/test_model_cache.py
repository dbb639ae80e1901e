"""Where things are kept, and when they count as whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from nexemu.errors import OperatorError
from nexemu.model import cache
from nexemu.model.synthetic import make_synthetic


@pytest.fixture
def clean_environment(monkeypatch, tmp_path):
    for name in ("NEXEMU_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("clean_environment")
def test_the_cache_is_in_the_home_folder_unless_told_otherwise(monkeypatch, tmp_path):
    assert cache.home() == tmp_path / ".cache" / "nexemu"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache.home() == Path("/xdg/nexemu")
    monkeypatch.setenv("NEXEMU_CACHE", "/own")
    assert cache.home() == Path("/own")


@pytest.mark.usefixtures("clean_environment")
def test_a_tilde_in_the_variable_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("NEXEMU_CACHE", "~/models")
    assert cache.home() == tmp_path / "models"


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv("NEXEMU_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache.home() == Path("/xdg/nexemu")


@pytest.fixture
def image(cache_home, tiny):
    folder = cache.image_folder(cache.SYNTHETIC)
    folder.mkdir(parents=True)
    make_synthetic(folder, lambda: None, tiny)
    return folder


def test_image_folders_lie_in_the_cache(cache_home):
    assert cache.image_folder("smollm2-135m") == cache_home / "images" / "smollm2-135m"


def test_a_finished_image_is_complete(image):
    assert cache.is_complete(image)


def test_a_folder_that_is_not_there_is_not_complete(tmp_path):
    assert not cache.is_complete(tmp_path / "nowhere")
    assert not cache.is_complete(tmp_path)


@pytest.mark.parametrize("name", [*cache.PLAIN_FILES, "L00.BIN", "L01.BIN"])
def test_an_image_that_lacks_any_file_is_not_complete(image, name):
    (image / name).unlink()
    assert not cache.is_complete(image)


@pytest.mark.parametrize("text", ["", "image=0\n", "image=2\n", "model=x\n", "\N{SNOWMAN}"])
def test_an_image_of_another_version_is_not_complete(image, text):
    (image / "INFO.TXT").write_text(text, encoding="utf-8")
    assert not cache.is_complete(image)


def test_a_label_or_a_configuration_that_is_damaged_is_not_complete(image):
    (image / "CFG.BIN").write_bytes(b"CFG1")
    assert not cache.is_complete(image)
    (image / "INFO.TXT").write_bytes(b"\xff\xfe")
    assert not cache.is_complete(image)


def test_noise_is_ready_for_those_who_asked_for_it_or_could_not_get_better(image):
    assert cache.ready("synthetic") == image
    assert cache.ready("smollm2") is None
    assert cache.ready("auto") is None
    cache.no_model_note().write_text("no network")
    assert cache.ready("auto") == image
    assert cache.ready("smollm2") is None


def test_the_real_image_is_preferred(image, tiny):
    real = cache.image_folder(cache.SMOLLM2)
    image.rename(real)
    assert cache.ready("auto") == cache.ready("smollm2") == real
    assert cache.ready("synthetic") is None


def test_asking_loads_none_of_the_heavy_packages():
    code = "import sys, nexemu.model.cache; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "nexemu.model.cache" in loaded.stdout.split()
    assert not {"numpy", "gguf", "rich", "typer", "tempfile"} & set(loaded.stdout.split())


@pytest.mark.parametrize(("model", "status"), [("synthetic", 0), ("smollm2", 1), ("auto", 1), ("x", 1)])
def test_the_makefile_can_ask_too(image, monkeypatch, model, status):
    monkeypatch.setenv("MODEL", model)
    asked = subprocess.run([sys.executable, "-m", "nexemu.model.ready"], check=False, capture_output=True)
    assert (asked.returncode, asked.stdout, asked.stderr) == (status, b"", b"")


def test_without_a_home_the_operator_is_told_what_to_set(monkeypatch):
    def homeless():
        raise RuntimeError

    for name in ("NEXEMU_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(OperatorError, match="set NEXEMU_CACHE"):
        cache.home()
