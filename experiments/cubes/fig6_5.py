"""Figure 6.5: the noise in cuboids of each number of dimensions, on Adult, all cuboids published."""

from fractions import Fraction

from experiments.cubes.plot import draw_errors
from experiments.cubes.techniques import TECHNIQUES, errors_of, exact_cube
from experiments.tables.tables import adult


def draw() -> None:
    table = adult()
    exact = exact_cube(table.base_cuboid())
    found = {t.name: errors_of(t.plan(table.sizes, Fraction(1)), exact) for t in TECHNIQUES}
    measured = {
        count: {name: errors.of_dimensions(count) for name, errors in found.items()}
        for count in range(len(table.sizes) + 1)
    }
    draw_errors("fig6_5", "Adult, ε = 1, all 256 cuboids", "dimensions of the cuboid", measured)
