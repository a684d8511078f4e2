"""Figure 6.4: the set of cuboids to be published, on Adult: those of at most 2, 3, … 6 dimensions."""

from fractions import Fraction

from experiments.cubes.plot import draw_errors
from experiments.cubes.techniques import TECHNIQUES, errors_of, exact_cube
from experiments.tables.tables import adult


def draw() -> None:
    table = adult()
    exact = exact_cube(table.base_cuboid())
    measured = {
        most: {
            technique.name: errors_of(technique.plan(table.sizes, Fraction(1), cuboids=most), exact)
            for technique in TECHNIQUES
        }
        for most in (2, 3, 4, 5, 6)
    }
    draw_errors("fig6_4", "Adult, ε = 1, cuboids of few dimensions", "at most so many dimensions", measured)
