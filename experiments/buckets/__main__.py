"""Redo figures of the buckets seed: `python -m experiments.buckets [fig2 … fig7]`; all by default."""

import sys
from pathlib import Path

from experiments.redo import redo

FIGURES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("fig*.py")))

if __name__ == "__main__":
    sys.exit(redo("experiments.buckets", FIGURES))
