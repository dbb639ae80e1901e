"""What smolsample and smolbeam make of their options: one line that says what is wrong, and status 1."""

import re

import pytest
from smolsample_machine import run

from nexemu.memlayout import KERNEL_PAGES

SMALLEST = (KERNEL_PAGES + 64) * 4096
"""A machine just large enough to be one."""

HUGE = "99999999999999999999"
BAD = {
    "--samples": ("", "0", "-1", "x", "1048577", HUGE),
    "--temperature": ("", "-1", ".5", "1.", "1,5", "100.000001", "1e3", "x", HUGE),
    "--top-p": ("", "0", "0.0", "1.000001", "2", "x"),
    "--top-k": ("", "-1", "4294967296", "1.5", HUGE),
    "--seed": ("", "-1", "18446744073709551616", "x"),
    "--width": ("", "0", "6", "x", HUGE),
    "--gen-len": ("", "0", "-1", "1x", "2147483648", HUGE),
    "--kv-offset": ("", "8", "4096", "-16", HUGE),
}
SAMPLE_ONLY = ("--samples", "--temperature", "--top-p", "--top-k", "--seed")
BOTH = [
    (["--frobnicate"], "unknown arg --frobnicate"),
    (["1,2,3"], "unknown arg 1,2,3"),
    (["--dump-logits", "F"], "unknown arg --dump-logits"),
    (["--prompt"], "bad --prompt usage"),
    (["--gen-len", "1", "--gen-len", "2"], "bad --gen-len usage"),
    (
        ["--prompt", "a", "--prompt-tokens", "1"],
        "--prompt, --prompt-file and --prompt-tokens exclude each other",
    ),
    (
        ["--prompt", "a", "--prompt-file", "F"],
        "--prompt, --prompt-file and --prompt-tokens exclude each other",
    ),
    (["--prompt-file", "no.such"], "missing no.such"),
    (["--prompt-file", "."], "failed to read ."),
    (["--prompt-tokens", "1,,2"], "bad --prompt-tokens payload"),
    (["--prompt-tokens", "1,320"], "prompt token 1 out of range: 320"),
    (["--prompt", ""], "invalid request shape"),
    (["--prompt-tokens", "1", "--gen-len", "64"], "request exceeds runtime sequence length"),
    (["--prompt-file", "EMB.BIN"], "request exceeds runtime sequence length"),
]


def cases():
    for program, own in (("smolsample", SAMPLE_ONLY), ("smolbeam", ("--width",))):
        yield from ((program, options, complaint) for options, complaint in BOTH)
        for name in (*own, "--gen-len", "--kv-offset"):
            yield program, [name], f"bad {name} usage"
            yield from ((program, [name, value], f"bad {name} value") for value in BAD[name])


@pytest.mark.parametrize(("program", "options", "complaint"), list(cases()))
def test_bad_options_end_in_one_line_before_anything_is_loaded(tiny, program, options, complaint):
    ran = run(program, *options, image=tiny)
    assert (ran.status, ran.output) == (1, f"{program}: {complaint}\n")


@pytest.mark.parametrize("program", ["smolsample", "smolbeam"])
def test_help(tiny, program):
    ran = run(program, "--help", image=tiny)
    assert ran.status == 0
    assert ran.lines[0] == f"usage: {program} [OPTION]..."
    own = SAMPLE_ONLY if program == "smolsample" else ["--width"]
    for option in (
        *own,
        "--prompt ",
        "--prompt-file",
        "--prompt-tokens",
        "--gen-len",
        "--show-text",
        "--kv-offset",
    ):
        assert any(line.startswith(f"  {option}") for line in ran.lines)
    assert max(map(len, ran.lines)) <= 80


def sample(image, *options, **machine):
    return run("smolsample", "--prompt-tokens", "1,2,3", "--gen-len", "5", *options, image=image, **machine)


def test_eleven_samples_fit_beside_the_machines_own_five_processes(tiny):
    ran = sample(tiny, "--samples", "11")
    assert ran.status == 0
    assert len(ran.tokens("sample")) == 11


def test_more_are_refused_before_anything_is_loaded(tiny):
    ran = sample(tiny, "--samples", "12")
    assert (ran.status, ran.output) == (
        1,
        "smolsample: --samples 12: there are processes left for only 11\n",
    )


def test_too_little_memory_ends_in_one_line_wherever_it_is_found_out(tiny):
    """On machines from one that cannot read the weights up to the first that completes four samples."""
    last_lines = set()
    for size in range(SMALLEST, 8 << 20, 1 << 14):
        ran = sample(tiny, memory=size)
        if ran.status == 0:
            break
        last_lines.add(re.sub(r"\d+", "N", ran.lines[-1]))
    assert ran.status == 0
    assert "smolsample: fork failed for sample N: this process has N pages, and N are free" in last_lines
    assert "smolsample: sample N died: no memory?" in last_lines


def test_a_prompt_in_text_or_in_a_file_is_the_same_as_its_tokens(tiny, tmp_path):
    (tmp_path / "abc.txt").write_text("abc")
    prompts = [("--prompt", "abc"), ("--prompt-file", "abc.txt"), ("--prompt-tokens", "97,98,99")]
    for program in ("smolsample", "smolbeam"):
        first, *others = (run(program, *p, "--gen-len", "9", image=tiny, folders=[tmp_path]) for p in prompts)
        assert first.status == 0
        assert {other.output for other in others} == {first.output}


def test_a_word_that_is_too_long_is_not_cut(tiny, tmp_path):
    for length, complaint in (
        (4096, "request exceeds runtime sequence length"),
        (4097, "a word of the prompt is longer than 4096 bytes"),
    ):
        (tmp_path / "long.txt").write_text("x" * length)
        ran = run("smolsample", "--prompt-file", "long.txt", image=tiny, folders=[tmp_path])
        assert (ran.status, ran.output) == (1, f"smolsample: {complaint}\n")


@pytest.mark.parametrize(("program", "what"), [("smolsample", "sample"), ("smolbeam", "beam")])
def test_show_text_writes_what_the_tokens_spell(tiny, program, what):
    options = (program, "--prompt", "abc", "--gen-len", "20")
    ids, text = run(*options, image=tiny), run(*options, "--show-text", image=tiny)
    texts = re.split(rf"\[{program}\] {what}=\d (?:score=\S+ )?text:\n", text.output)[1:]
    for tokens, shown in zip(ids.tokens(what), texts, strict=True):
        spelled = b"".join(bytes([t]) if t < 256 else f"<{t}>".encode() for t in tokens)
        assert shown.startswith(spelled.decode(errors="replace") + "\n")
    assert text.lines[-3:] == ids.lines[-3:]
