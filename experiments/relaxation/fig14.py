"""Figure 14: quality of relaxation against the budget."""

from experiments.relaxation.setting import EPSILONS
from experiments.relaxation.sweep import quality_figure


def draw() -> None:
    quality_figure("fig14", "epsilon", EPSILONS, "ε")
