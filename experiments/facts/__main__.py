"""Redo the experiments on facts: `python -m experiments.facts [NAME …]`; all by default."""

import sys

from experiments.redo import redo

FIGURES = ("example1", "grades", "adult_gain", "fig6_10")

if __name__ == "__main__":
    sys.exit(redo("experiments.facts", FIGURES))
