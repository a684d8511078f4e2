"""Figure 2: the frequencies of the sensitive values."""

from experiments.buckets.plot import draw_lines
from experiments.buckets.setting import tables


def draw() -> None:
    panels = {
        name: {"frequency": {place: 100 * count / sum(counts) for place, count in enumerate(counts, start=1)}}
        for name, counts in tables().items()
    }
    draw_lines("fig2", panels, "value, from the rarest", "frequency, %", even=False)
