"""Figure 4: the mean squared error against θ."""

from experiments.buckets.plot import draw_lines
from experiments.buckets.setting import mean_squared_errors, tables


def draw() -> None:
    panels = {name: mean_squared_errors(counts) for name, counts in tables().items()}
    draw_lines("fig4", panels, "θ", "MSE", logarithmic=True)
