"""Figure 6.1: the privacy parameter, on Adult."""

from fractions import Fraction

from experiments.cubes.plot import draw_errors
from experiments.cubes.techniques import TECHNIQUES, Errors, errors_of, exact_cube
from experiments.tables.tables import Coded, adult

EPSILONS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2))


def by_epsilon(table: Coded) -> dict[object, dict[str, Errors]]:
    """All cuboids, published by every technique."""
    exact = exact_cube(table.base_cuboid())
    return {
        f"{float(epsilon):g}": {
            technique.name: errors_of(technique.plan(table.sizes, epsilon), exact) for technique in TECHNIQUES
        }
        for epsilon in EPSILONS
    }


def draw() -> None:
    draw_errors("fig6_1", "Adult, all 256 cuboids", "ε", by_epsilon(adult()))
