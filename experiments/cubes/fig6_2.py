"""Figure 6.2: the privacy parameter, on Nursery."""

from experiments.cubes.fig6_1 import by_epsilon
from experiments.cubes.plot import draw_errors
from experiments.tables.tables import nursery


def draw() -> None:
    draw_errors("fig6_2", "Nursery, all 512 cuboids", "ε", by_epsilon(nursery()))
