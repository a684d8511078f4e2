"""Redo the attacks on vaults: `python -m experiments.attacks [NAME …]`; all by default."""

import sys

from experiments.redo import redo

FIGURES = ("averaging", "differencing", "reconstruction", "membership", "budgets")

if __name__ == "__main__":
    sys.exit(redo("experiments.attacks", FIGURES))
