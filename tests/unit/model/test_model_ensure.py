"""Which image is made, which is found, and what the operator is told."""

import pytest
from typer.testing import CliRunner

from nexemu.errors import OperatorError
from nexemu.model import cache, ensure
from nexemu.model.command import app
from nexemu.model.synthetic import make_synthetic


class Workshop:
    """Stands for the network and the conversion, and counts what is asked of them."""

    def __init__(self, tiny):
        self.tiny = tiny
        self.online = True
        self.log = []

    def fetch(self):
        self.log.append("fetch")
        if not self.online:
            raise OperatorError("no network")
        return "the file"

    def convert(self, gguf, folder, provenance, advance):
        self.log.append("convert")
        make_synthetic(folder, advance, self.tiny)

    def make_synthetic(self, folder, advance):
        self.log.append("synthetic")
        make_synthetic(folder, advance, self.tiny)


@pytest.fixture
def workshop(tiny, monkeypatch, cache_home):
    shop = Workshop(tiny)
    for name in ("fetch", "convert", "make_synthetic"):
        monkeypatch.setattr(ensure, name, getattr(shop, name))
    monkeypatch.setattr(ensure, "GgufFile", lambda path: path)
    return shop


def test_the_real_model_is_made_once(workshop):
    assert ensure.ensure("auto") == cache.image_folder("smollm2-135m")
    assert ensure.ensure("auto") == ensure.ensure("smollm2") == cache.image_folder("smollm2-135m")
    assert workshop.log == ["fetch", "convert"]


def test_noise_is_made_once(workshop):
    assert ensure.ensure("synthetic") == ensure.ensure("synthetic") == cache.image_folder("synthetic")
    assert workshop.log == ["synthetic"]


def test_offline_noise_stands_in_and_says_so_each_time(workshop, capsys):
    workshop.online = False
    assert ensure.ensure("auto") == cache.image_folder("synthetic")
    said = capsys.readouterr().err
    assert said.startswith("no network\n")
    assert said.endswith(ensure.NOISE + "\n")
    assert ensure.ensure("auto") == cache.image_folder("synthetic")
    assert capsys.readouterr().err == ensure.NOISE + "\n"
    assert workshop.log == ["fetch", "synthetic"]


def test_a_cache_that_cannot_be_written_is_told_once(workshop, cache_home, capsys):
    cache_home.parent.mkdir(parents=True, exist_ok=True)
    cache_home.write_text("a file where a folder should be")
    with pytest.raises(OperatorError, match="set NEXEMU_CACHE to another folder"):
        ensure.ensure("auto")
    assert capsys.readouterr().err == ""
    assert workshop.log == []


def test_who_wants_the_real_model_is_not_given_noise(workshop):
    workshop.online = False
    with pytest.raises(OperatorError, match="no network"):
        ensure.ensure("smollm2")
    assert workshop.log == ["fetch"]


def test_noise_that_was_asked_for_does_not_keep_the_real_model_away(workshop):
    ensure.ensure("synthetic")
    assert ensure.ensure("auto") == cache.image_folder("smollm2-135m")


def test_once_the_real_model_came_noise_no_longer_stands_in(workshop):
    workshop.online = False
    ensure.ensure("auto")
    workshop.online = True
    ensure.ensure("smollm2")
    assert ensure.ensure("auto") == cache.image_folder("smollm2-135m")


def test_a_damaged_image_is_made_anew(workshop):
    folder = ensure.ensure("smollm2")
    (folder / "L01.BIN").unlink()
    assert ensure.ensure("smollm2") == folder
    assert cache.is_complete(folder)
    assert workshop.log == ["fetch", "convert"] * 2


def test_an_unknown_choice_is_named_with_the_known_ones(workshop):
    with pytest.raises(OperatorError, match="MODEL=gpt2 is unknown: choose one of auto, smollm2, synthetic"):
        ensure.ensure("gpt2")


def invoke(*arguments, **environment):
    return CliRunner().invoke(app, arguments, env=environment)


def test_ensure_takes_its_choice_from_the_environment_and_leaves_standard_output_alone(workshop):
    result = invoke("ensure", MODEL="synthetic")
    assert (result.exit_code, result.stdout) == (0, "")
    assert workshop.log == ["synthetic"]


def test_convert_says_where_the_image_is(workshop):
    result = invoke("convert", "--synthetic")
    assert result.exit_code == 0
    assert str(cache.image_folder("synthetic")) in result.stderr
    assert invoke("convert", "--synthetic").exit_code == 0
    assert invoke("convert", "--synthetic", "--force").exit_code == 0
    assert workshop.log == ["synthetic"] * 2


def test_info_says_what_is_missing_and_how_to_make_it(workshop):
    result = invoke("info")
    assert result.exit_code == 0
    assert "smollm2-135m: not there; 'nexemu model convert' makes it" in result.stdout
    assert "synthetic: not there; 'nexemu model convert --synthetic' makes it" in result.stdout


def test_info_shows_sizes_and_provenance(workshop):
    ensure.ensure("synthetic")
    text = invoke("info", COLUMNS="200").stdout
    for expected in ("2 of dim 64, hidden 96", "4 heads, 2 KV heads, head_dim 16", "300 tokens", "seed 135"):
        assert expected in text
    assert str(cache.image_folder("synthetic")) in text


def test_info_shows_a_folder_whose_name_looks_like_markup(workshop, tmp_path, monkeypatch):
    monkeypatch.setenv("NEXEMU_CACHE", str(tmp_path / "[red]"))
    ensure.ensure("synthetic")
    assert "/[red]/images/synthetic" in invoke("info", COLUMNS="200").stdout


def test_fetch_takes_a_file_and_names_what_is_wrong_with_it(tmp_path, cache_home):
    (tmp_path / "x.gguf").write_bytes(b"other")
    result = invoke("fetch", "--from", str(tmp_path / "x.gguf"))
    assert isinstance(result.exception, OperatorError)
    assert "does not hold the published" in str(result.exception)
