"""What smolprobe makes of its options and of bad files: one line that says what is wrong, and status 1."""

import struct

import pytest
from smolprobe_machine import EXPECT, PROMPT, TINY, run_guest, smolprobe

FULL = ",".join(["1"] * 20)

HUGE = "99999999999999999999"
BAD_IDS = ("", ",", "1,", ",1", "1,,2", "1;2", "-1", "1 ", "x", "4294967296", HUGE)
BAD_LENGTHS = ("", "0", "-1", "1x", "2147483648", HUGE)
BAD_OFFSETS = ("", "8", "4096", "x", "-16", HUGE)
BAD_OPTIONS = [
    (["--frobnicate"], "unknown arg --frobnicate"),
    (["1,2,3"], "unknown arg 1,2,3"),
    (["--prompt-tokens"], "bad --prompt-tokens usage"),
    (["--prompt-tokens", "1", "--gen-len", "1", "--prompt-tokens", "2"], "bad --prompt-tokens usage"),
    (["--prompt-tokens", "1", "--gen-len"], "bad --gen-len usage"),
    (["--gen-len", "1", "--gen-len", "1", "--prompt-tokens", "1"], "bad --gen-len usage"),
    (["--prompt"], "bad --prompt usage"),
    (["--kv-offset"], "bad --kv-offset usage"),
    (["--dump-logits"], "bad --dump-logits usage"),
    (["--prompt-tokens", "1"], "custom decode requires both --prompt-tokens and --gen-len"),
    (["--gen-len", "1"], "custom decode requires both --prompt-tokens and --gen-len"),
    (["--prompt", "a", "--prompt-tokens", "1"], "--prompt and --prompt-tokens exclude each other"),
    *((["--prompt-tokens", ids, "--gen-len", "1"], "bad --prompt-tokens payload") for ids in BAD_IDS),
    *((["--prompt-tokens", "1", "--gen-len", number], "bad --gen-len value") for number in BAD_LENGTHS),
    *((["--kv-offset", number], "bad --kv-offset value") for number in BAD_OFFSETS),
    (["--prompt-tokens", "1,320", "--gen-len", "1"], "prompt token 1 out of range: 320"),
    (["--prompt-tokens", "4294967295", "--gen-len", "1"], "prompt token 0 out of range: 4294967295"),
    (["--prompt-tokens", "1", "--gen-len", "64"], "request exceeds runtime sequence length"),
    (["--prompt-tokens", "1", "--gen-len", "2147483647"], "request exceeds runtime sequence length"),
    (["--prompt", "x" * 65], "request exceeds runtime sequence length"),
    (["--prompt", "", "--gen-len", "1"], "invalid request shape"),
    (["--dump-logits", "/no/such/folder"], "cannot create /no/such/folder"),
]


@pytest.mark.parametrize(("options", "complaint"), BAD_OPTIONS)
def test_bad_options_end_in_one_line_before_anything_is_loaded(tiny, options, complaint):
    ran = smolprobe(*options, image=tiny)
    assert (ran.status, ran.output) == (1, f"smolprobe: {complaint}\n")


def test_the_name_is_the_one_it_was_called_by(tiny):
    assert run_guest([b"smol_probe", b"--x"], tiny).output == "smol_probe: unknown arg --x\n"
    assert run_guest([b"/smol_probe"], tiny).lines[0] == "[smol_probe] loading LLM assets..."


def test_help(tiny):
    ran = smolprobe("--help", image=tiny)
    assert ran.status == 0
    assert ran.lines[0] == "usage: smolprobe [OPTION]..."
    for option in ("prompt-tokens", "prompt ", "gen-len", "show-text", "kv-offset", "dump-logits"):
        assert any(line.startswith(f"  --{option}") for line in ran.lines)
    assert max(map(len, ran.lines)) <= 80


def test_the_longest_request(tiny):
    assert smolprobe("--prompt-tokens", FULL, "--gen-len", "44", image=tiny).status == 0


def test_without_options_the_images_own_request_is_decoded(tiny):
    ran = smolprobe(image=tiny)
    assert ran.lines[1] == f"[smolprobe] request prompt_tokens={len(PROMPT)} gen_tokens={len(EXPECT)}"


def test_a_prompt_in_text_generates_16_tokens_unless_told(tiny):
    assert len(smolprobe("--prompt", "abc", image=tiny).generated) == 16
    assert len(smolprobe("--prompt", "abc", "--gen-len", "3", image=tiny).generated) == 3


def test_a_prompt_in_text_is_the_same_as_its_tokens(tiny):
    text = smolprobe("--prompt", "abc", "--gen-len", "9", image=tiny)
    tokens = smolprobe("--prompt-tokens", "97,98,99", "--gen-len", "9", image=tiny)
    assert text.generated == tokens.generated
    assert text.output == tokens.output


def test_show_text_writes_what_the_tokens_spell(tiny):
    ran = smolprobe("--prompt", "abc", "--gen-len", "40", "--show-text", image=tiny)
    spelled = b"".join(bytes([t]) if t < 256 else f"<{t}>".encode() for t in ran.generated)
    before, _, after = ran.output.partition("running decode...\n")
    assert after.startswith(spelled.decode(errors="replace") + "\n[smolprobe] SUMMARY ")
    assert before.count("\n") == 3


# ---- files ------------------------------------------------------------------------------------


@pytest.fixture
def image(tiny, tmp_path):
    """A copy of the tiny image, to be spoiled."""
    folder = tmp_path / "image"
    folder.mkdir()
    for file in tiny.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def config(**changes):
    fields = {
        "magic": 0x31474643, "version": 1, "dim": TINY.dim, "hidden": TINY.hidden, "layers": TINY.layers,
        "heads": TINY.heads, "kv_heads": TINY.kv_heads, "vocab": TINY.vocab, "seq_len": TINY.seq_len,
        "runtime": TINY.runtime_seq_len,
    }  # fmt: skip
    return struct.pack("<10I2f", *(fields | changes).values(), TINY.rms_eps, TINY.rope_theta)


def config_v2(kind=0, flags=0, rotary=TINY.head_dim):
    sizes = (TINY.dim, TINY.hidden, TINY.layers, TINY.heads, TINY.kv_heads, TINY.head_dim, TINY.vocab)
    head = struct.pack("<4I", 0x31474643, 2, kind, flags)
    positions = struct.pack("<2I2f", TINY.seq_len, TINY.runtime_seq_len, TINY.rms_eps, TINY.rope_theta)
    return head + struct.pack("<7I", *sizes) + positions + struct.pack("<6I", rotary, 0, 0, 0, 0, 0)


LAYER_BYTES = 4 * 2 * 64 + 2 * (64 * 68) + 2 * (32 * 68) + 2 * (96 * 68) + 64 * 100

BAD_FILES = [
    ("EMB.BIN", None, "missing EMB.BIN"),
    ("NRM.BIN", None, "missing NRM.BIN"),
    ("L02.BIN", None, "missing L02.BIN"),
    ("ROP.BIN", None, "missing ROP.BIN"),
    ("EMB.BIN", bytes(100), "embedding blob size mismatch"),
    ("NRM.BIN", bytes(252), "bad NRM.BIN size"),
    ("ROP.BIN", b"", "bad ROP.BIN size"),
    ("L01.BIN", bytes(8), f"full layer blob size mismatch (8 vs {LAYER_BYTES})"),
    ("LTY.BIN", struct.pack("<4I", 3, 0, 1, 0), "invalid model config"),
    ("LTY.BIN", struct.pack("<3I", 2, 0, 0), "bad u32 file LTY.BIN"),
]
BAD_SMALL_FILES = [
    ("CFG.BIN", b"", "bad CFG.BIN size (0)"),
    ("CFG.BIN", bytes(47), "bad CFG.BIN size (47)"),
    ("CFG.BIN", bytes(85), "bad CFG.BIN size (85)"),
    ("CFG.BIN", bytes(48), "unsupported CFG.BIN header"),
    ("CFG.BIN", config(version=3), "unsupported CFG.BIN version 3"),
    ("CFG.BIN", config() + bytes(4), "bad CFG.BIN v1 size (52)"),
    ("CFG.BIN", config(version=2), "bad CFG.BIN v2 size (48)"),
    ("CFG.BIN", config_v2(kind=1), "expected SmolLM assets, got Qwen3.5"),
    ("CFG.BIN", config_v2(flags=2), "invalid model config"),
    ("CFG.BIN", config_v2(rotary=4), "invalid model config"),
    ("CFG.BIN", config(dim=0), "invalid model config"),
    ("CFG.BIN", config(dim=60), "invalid model config"),
    ("CFG.BIN", config(dim=0xFFFFFFF8), "invalid model config"),
    ("CFG.BIN", config(hidden=0), "invalid model config"),
    ("CFG.BIN", config(layers=0), "invalid model config"),
    ("CFG.BIN", config(layers=101), "invalid model config"),
    ("CFG.BIN", config(heads=0), "invalid model config"),
    ("CFG.BIN", config(kv_heads=0), "invalid model config"),
    ("CFG.BIN", config(kv_heads=3), "invalid model config"),
    ("CFG.BIN", config(vocab=321), "invalid model config"),
    ("CFG.BIN", config(runtime=0), "invalid model config"),
    ("PMT.BIN", None, "missing PMT.BIN"),
    ("PMT.BIN", b"", "bad u32 file PMT.BIN"),
    ("PMT.BIN", struct.pack("<2I", 2, 0), "bad u32 file PMT.BIN"),
    ("PMT.BIN", struct.pack("<I", 0), "invalid request shape"),
    ("PMT.BIN", struct.pack("<2I", 1, 320), "prompt token 0 out of range: 320"),
    ("PMT.BIN", struct.pack("<66I", 65, *range(65)), "request exceeds runtime sequence length"),
    ("EXP.BIN", None, "missing EXP.BIN"),
    ("EXP.BIN", struct.pack("<I", 0), "invalid request shape"),
    ("EXP.BIN", struct.pack("<3I", 2, 0, 999), "expect token 1 out of range: 999"),
]


def spoil(image, name, content):
    if content is None:
        (image / name).unlink()
    else:
        (image / name).write_bytes(content)


@pytest.mark.parametrize(("name", "content", "complaint"), BAD_FILES)
def test_bad_weights(image, name, content, complaint):
    spoil(image, name, content)
    ran = smolprobe(image=image)
    assert (ran.status, ran.lines) == (1, ["[smolprobe] loading LLM assets...", f"smolprobe: {complaint}"])


@pytest.mark.parametrize(("name", "content", "complaint"), BAD_SMALL_FILES)
def test_bad_config_and_request(image, name, content, complaint):
    spoil(image, name, content)
    ran = smolprobe(image=image)
    assert (ran.status, ran.output) == (1, f"smolprobe: {complaint}\n")


def tok_with(tiny, at, value):
    content = bytearray((tiny / "TOK.BIN").read_bytes())
    struct.pack_into("<I", content, at, value)
    return bytes(content)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda tiny: None, "missing TOK.BIN"),
        (lambda tiny: b"", "failed to read TOK.BIN"),
        (lambda tiny: b"TOK1", "unsupported TOK.BIN header"),
        (lambda tiny: tok_with(tiny, 0, 1), "unsupported TOK.BIN header"),
        (lambda tiny: tok_with(tiny, 4, 2), "unsupported TOK.BIN header"),
        (lambda tiny: tok_with(tiny, 8, 312), "size mismatch in TOK.BIN"),
        (lambda tiny: tok_with(tiny, 12, 0xFFFFFFFF), "size mismatch in TOK.BIN"),
        (lambda tiny: (tiny / "TOK.BIN").read_bytes() + b"x", "size mismatch in TOK.BIN"),
    ],
)
def test_a_bad_tokenizer_is_only_missed_when_text_is_wanted(tiny, image, make, complaint):
    spoil(image, "TOK.BIN", make(tiny))
    assert smolprobe(image=image).status == 0
    for options in (["--prompt", "a"], ["--show-text"]):
        ran = smolprobe(*options, image=image)
        assert (ran.status, ran.output) == (1, f"smolprobe: {complaint}\n")


def test_a_folder_in_place_of_a_file(image):
    (image / "NRM.BIN").unlink()
    (image / "NRM.BIN").mkdir()
    assert smolprobe(image=image).lines[-1] == "smolprobe: failed to read NRM.BIN"


def test_version_2_of_the_configuration(tiny, image):
    (image / "CFG.BIN").write_bytes(config_v2())
    (image / "LTY.BIN").write_bytes(struct.pack("<4I", 3, 0, 0, 0))
    assert smolprobe(image=image).generated == smolprobe(image=tiny).generated


def test_without_a_configuration_smollm2_is_expected(image):
    (image / "CFG.BIN").unlink()
    assert smolprobe(image=image).lines[-1] == "smolprobe: embedding blob size mismatch"
