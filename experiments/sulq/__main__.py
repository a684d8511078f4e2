"""Draw the figures of the SuLQ experiments: `python -m experiments.sulq [queries, privacy …]`; all by default."""

import sys

from experiments.redo import redo

FIGURES = ("queries", "people", "learnt", "privacy")

if __name__ == "__main__":
    sys.exit(redo("experiments.sulq", FIGURES))
