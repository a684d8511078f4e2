"""Redo figures of the relaxation seed: `python -m experiments.relaxation [fig11 … fig16, variance]`; all by default."""

import sys

from experiments.redo import redo

FIGURES = ("fig11", "fig12", "fig13", "fig14", "fig15", "fig16", "variance")

if __name__ == "__main__":
    sys.exit(redo("experiments.relaxation", FIGURES))
