"""nexemu: a RISC-V lab machine for learning how a kernel manages memory."""

__version__ = "0.1.0"
