"""``python -m nexemu.model.ready``: status 0 if the image that $MODEL means is there, else 1.

For a Makefile, which asks at every start: it answers ten times sooner than the command line does.
"""

import os
import sys

from nexemu.model.cache import ready

if __name__ == "__main__":
    sys.exit(0 if ready(os.environ.get("MODEL") or "auto") else 1)
