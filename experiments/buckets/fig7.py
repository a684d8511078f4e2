"""Figure 7: run time against the number of values, each of them split evenly into γ."""

import numpy as np

from experiments.buckets.plot import draw_lines
from experiments.buckets.runtime import run_times
from experiments.buckets.tables import frequencies, rounded

ROWS = 500_000
FACTORS = (1, 2, 4, 8, 16, 32, 64)


def draw() -> None:
    panels = {
        table: run_times({factor: rounded(np.repeat(frequencies(table), factor), ROWS) for factor in FACTORS})
        for table in ("OCC", "EDU")
    }
    draw_lines("fig7", panels, "scale-up γ of the number of values", "seconds", logarithmic=True)
