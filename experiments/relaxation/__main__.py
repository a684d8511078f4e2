"""Redo figures of the relaxation seed: `python -m experiments.relaxation [fig11 … readings]`; all by default."""

import sys

from experiments.redo import redo

FIGURES = ("fig11", "fig12", "fig13", "fig14", "fig15", "fig16", "variance", "readings")

if __name__ == "__main__":
    sys.exit(redo("experiments.relaxation", FIGURES))
