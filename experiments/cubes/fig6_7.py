"""Figure 6.7: the cardinality of dimensions, on synthetic tables of 10⁸ rows and seven dimensions."""

from experiments.cubes.fig6_6 import synthetic_errors
from experiments.cubes.plot import draw_errors

CARDINALITIES = (2, 3, 4, 5, 6, 8, 10)


def draw() -> None:
    measured = {size: synthetic_errors((size,) * 7) for size in CARDINALITIES}
    draw_errors("fig6_7", "Synthetic, 7 dimensions, ε = 1, all cuboids", "values a dimension", measured)
