"""Redo figures of the cubes seed: `python -m experiments.cubes [fig6_1 … fig6_9 online counts]`; all by default."""

import sys

from experiments.redo import redo

FIGURES = (*(f"fig6_{number}" for number in range(1, 10)), "online", "counts")

if __name__ == "__main__":
    sys.exit(redo("experiments.cubes", FIGURES))
