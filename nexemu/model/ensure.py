"""Seeing to it that an image is there: the one step between a fresh checkout and a running guest."""

from pathlib import Path
from typing import Final

from nexemu.errors import OperatorError
from nexemu.model.build import locked, new_folder
from nexemu.model.cache import SMOLLM2, SYNTHETIC, image_folder, is_complete, known, no_model_note, ready
from nexemu.model.convert import convert
from nexemu.model.fetch import GGUF_NAME, GGUF_SHA256, LICENCE, PACKAGE, PACKAGE_VERSION, fetch
from nexemu.model.geometry import SMOLLM2_135M
from nexemu.model.gguf_file import GgufFile
from nexemu.model.progress import bar, say
from nexemu.model.synthetic import make_synthetic

PROVENANCE: Final = {
    "model": "SmolLM2-135M-Instruct",
    "source": f"{PACKAGE} {PACKAGE_VERSION} from the Python Package Index",
    "file": GGUF_NAME,
    "sha256": GGUF_SHA256,
    "licence": LICENCE,
    "weights": "int8 with one scale a row, from the file's Q4_1 (layers) and Q8_0 (embedding)",
}

NOISE: Final = (
    "The weights are synthetic: page counts are right, the text is noise "
    "('nexemu model convert' gets the real ones)"
)


def ensure(choice: str) -> Path:
    """The image folder of ``choice``: smollm2, synthetic, or auto, which falls back to synthetic.

    What was built before is found at once; so is the fallback, until the real model has been fetched.
    Raises OperatorError when the choice is unknown or cannot be had.
    """
    if known(choice) == "synthetic":
        return synthetic_image()
    if choice == "smollm2":
        return smollm2_image()
    return _best_image()


def smollm2_image(rebuild: bool = False) -> Path:
    """SmolLM2's image; fetched and converted if it is absent, or if ``rebuild``."""
    folder = image_folder(SMOLLM2)
    if rebuild or not is_complete(folder):
        with locked(folder.parent):
            if rebuild or not is_complete(folder):
                _build_smollm2(folder)
    return folder


def synthetic_image(rebuild: bool = False) -> Path:
    """The image of noise; made if it is absent, or if ``rebuild``."""
    folder = image_folder(SYNTHETIC)
    steps = SMOLLM2_135M.layers + 2
    if rebuild or not is_complete(folder):
        with locked(folder.parent):
            if rebuild or not is_complete(folder):
                with new_folder(folder) as part, bar("Making synthetic weights", steps) as advance:
                    make_synthetic(part, advance)
    return folder


def _build_smollm2(folder: Path) -> None:
    path = fetch()
    with new_folder(folder) as part, bar("Converting the model", SMOLLM2_135M.layers + 1) as advance:
        convert(GgufFile(path), part, PROVENANCE, advance)


def _best_image() -> Path:
    """The real image if it can be had; else noise, with a line that says so."""
    folder = ready("auto")
    if folder is None:
        with locked(image_folder(SMOLLM2).parent):
            pass  # where nothing can be written, noise cannot stand in either
        try:
            return smollm2_image()
        except OperatorError as error:
            say(str(error))
            folder = synthetic_image()
            no_model_note().write_text(str(error), encoding="utf-8")
    if folder == image_folder(SYNTHETIC):
        say(NOISE)
    return folder
