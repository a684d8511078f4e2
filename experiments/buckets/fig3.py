"""Figure 3: the ℓ-diversity that the limits ask of Anatomy, beside the most that the table allows."""

from discreet.microdata.anatomy import diversity
from experiments.buckets.plot import draw_lines
from experiments.buckets.setting import THETAS, limits, tables


def draw() -> None:
    panels = {
        name: {
            "ℓ that the limits need": {theta: diversity(counts, limits(theta)) for theta in THETAS},
            "the most that the table allows": dict.fromkeys(THETAS, sum(counts) // max(counts)),
        }
        for name, counts in tables().items()
    }
    draw_lines("fig3", panels, "θ", "ℓ")
