"""An image folder's small files: prompt, expectation, tokenizer, and the label on the box."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from nexemu.model.assets import ids_bytes
from nexemu.model.cache import version_line
from nexemu.model.tok_file import tok_bytes
from nexemu.model.tokenizer import Tokenizer

DEFAULT_PROMPT: Final = (504, 3575, 282, 4649, 314)
"""What a guest decodes when it is given no prompt: SmolLM2's tokens of "The capital of France is"."""


def write_request(folder: Path, tokenizer: Tokenizer, prompt: Sequence[int], expect: Sequence[int]) -> None:
    """TOK.BIN, and the default prompt and its continuation as ids and as text for people."""
    (folder / "TOK.BIN").write_bytes(tok_bytes(tokenizer.vocabulary))
    (folder / "PMT.BIN").write_bytes(ids_bytes(prompt))
    (folder / "EXP.BIN").write_bytes(ids_bytes(expect))
    write_label(folder / "PROMPT.TXT", {"prompt_text": tokenizer.text(prompt), "prompt_tokens": _csv(prompt)})
    write_label(folder / "EXPECT.TXT", {"expect_text": tokenizer.text(expect), "expect_tokens": _csv(expect)})


def write_info(folder: Path, facts: Mapping[str, str]) -> None:
    """INFO.TXT, the last file of an image: what it is and where it came from."""
    write_label(folder / "INFO.TXT", facts, first=version_line())


def read_info(folder: Path) -> dict[str, str]:
    """INFO.TXT's facts."""
    lines = (folder / "INFO.TXT").read_text(encoding="utf-8").splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def write_label(path: Path, facts: Mapping[str, str], first: str = "") -> None:
    """A text file of name=value lines."""
    lines = "".join(f"{name}={value}\n" for name, value in facts.items())
    path.write_text(first + lines, encoding="utf-8", newline="\n")


def _csv(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
