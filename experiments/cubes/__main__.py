"""Redo figures of the cubes seed: `python -m experiments.cubes [fig6_1 … online_shares counts]`; all by default."""

import sys

from experiments.redo import redo

FIGURES = (*(f"fig6_{number}" for number in range(1, 10)), "online", "online_shares", "counts")

if __name__ == "__main__":
    sys.exit(redo("experiments.cubes", FIGURES))
