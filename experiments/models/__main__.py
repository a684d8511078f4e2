"""Where models fail: `python -m experiments.models`; a minute, and 1 GB of memory."""

import sys

from experiments.redo import redo

FIGURES = ("error",)

if __name__ == "__main__":
    sys.exit(redo("experiments.models", FIGURES))
