"""``python -m nexemu``."""

from nexemu.cli import main

main()
