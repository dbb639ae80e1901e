"""The hart: RISC-V user code runs here, under Unicorn."""
