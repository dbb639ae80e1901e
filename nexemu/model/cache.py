"""Where things are kept, and whether they are whole.

Role: names the cache folder and what lies in it. Every start of the machine asks here, so this
module imports the standard library's light parts only.

Invariant: an image folder appears by one rename (:mod:`nexemu.model.build`); what is found under
its final name was finished. :func:`is_complete` still looks for each file, because people tidy up.
"""

import os
import struct
from pathlib import Path
from typing import Final

from nexemu.errors import OperatorError

SMOLLM2: Final = "smollm2-135m"
SYNTHETIC: Final = "synthetic"

CHOICES: Final = ("auto", "smollm2", "synthetic")

IMAGE_VERSION: Final = 1
"""Raised when the files change their meaning; an image of another version is built anew."""

PLAIN_FILES: Final = (
    "CFG.BIN",
    "EMB.BIN",
    "NRM.BIN",
    "ROP.BIN",
    "TOK.BIN",
    "PMT.BIN",
    "EXP.BIN",
    "PROMPT.TXT",
    "EXPECT.TXT",
    "INFO.TXT",
)
"""What an image holds besides one file a layer."""


def home() -> Path:
    """The cache: $NEXEMU_CACHE, else $XDG_CACHE_HOME/nexemu, else ~/.cache/nexemu."""
    own = os.environ.get("NEXEMU_CACHE")
    shared = os.environ.get("XDG_CACHE_HOME")
    try:
        if own:
            return Path(own).expanduser()
        return (Path(shared) if shared else Path.home() / ".cache") / "nexemu"
    except RuntimeError as error:
        raise OperatorError("you have no home folder to keep the cache in; set NEXEMU_CACHE") from error


def image_folder(name: str) -> Path:
    """Where the image called ``name`` is, or would be."""
    return home() / "images" / name


def downloads() -> Path:
    """Where files are kept as they were published."""
    return home() / "downloads"


def no_model_note() -> Path:
    """Says why the last attempt to get the real model failed; there while noise stands in for it."""
    return home() / "no-model.txt"


def known(choice: str) -> str:
    """``choice``, unless it is none of the CHOICES. Raises OperatorError."""
    if choice not in CHOICES:
        raise OperatorError(f"MODEL={choice} is unknown: choose one of {', '.join(CHOICES)}")
    return choice


def ready(choice: str) -> Path | None:
    """The image that ``choice`` (smollm2, synthetic, auto) means, if nothing has to be done to have it."""
    if choice != "synthetic" and is_complete(image_folder(SMOLLM2)):
        return image_folder(SMOLLM2)
    noise_will_do = choice == "synthetic" or (choice == "auto" and no_model_note().exists())
    if noise_will_do and is_complete(image_folder(SYNTHETIC)):
        return image_folder(SYNTHETIC)
    return None


def layer_file(index: int) -> str:
    return f"L{index:02d}.BIN"


def is_complete(folder: Path) -> bool:
    """Whether ``folder`` is an image of this version with every file in its place."""
    try:
        with open(folder / "INFO.TXT", encoding="utf-8") as info:
            if info.readline() != version_line():
                return False
        with open(folder / "CFG.BIN", "rb") as config:
            (layers,) = struct.unpack_from("<I", config.read(), 16)
        present = set(os.listdir(folder))
    except (OSError, ValueError, struct.error):
        return False
    return present.issuperset(PLAIN_FILES) and all(layer_file(i) in present for i in range(layers))


def version_line() -> str:
    """The first line of INFO.TXT."""
    return f"image={IMAGE_VERSION}\n"
