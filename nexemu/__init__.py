"""nexemu: a RISC-V lab machine for learning how a kernel manages memory."""

from pathlib import Path
from typing import Final

__version__ = "0.1.0"

GUESTS: Final = Path(__file__).parent / "guests"
"""The compiled guest programs, as the package carries them: a folder for each personality."""
