"""Figure 13: quality of relaxation against the compound's maximum size."""

from experiments.relaxation.setting import COMPOUND_SIZES
from experiments.relaxation.sweep import quality_figure


def draw() -> None:
    quality_figure("fig13", "most_answers", COMPOUND_SIZES, "maximum compound size ξ")
