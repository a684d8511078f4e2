"""zCDP: the convex planner against ResidualPlanner's optimum, and what (ε, δ) buys over pure ε on the same cube."""

from collections.abc import Iterator
from fractions import Fraction

from bench.figure import Figure
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.ledger.budget import ConcentratedBudget, PureBudget
from discreet.ledger.conversion import rho_for
from discreet.query.lattice import Lattice
from experiments.wide.residual import residual_planner_largest

ADULT = Lattice((9, 16, 7, 15, 6, 5, 2, 2))
RESIDUAL_PLANNER = 56.47
"""The max variance of Adult's 256 cuboids at ρ = 0.5, as ResidualPlanner finds it: its optimum."""


def figures() -> Iterator[Figure]:
    half = plan_cube(
        ADULT, NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove")).as_continuous()
    ).max_variance_consistent
    note = f"max variance {half:.2f} against {RESIDUAL_PLANNER}"
    yield Figure("Gaussian plan of Adult / ResidualPlanner's", half / RESIDUAL_PLANNER, 1.01, "lower", "×", note)
    wide = plan_cube(Lattice((10,) * 50), NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove")), cuboids=3)
    theirs = residual_planner_largest(50, 10, 3, 0.5)
    note = f"{len(wide.published):,} cuboids; max variance {wide.max_variance_consistent:,.0f} against {theirs:,.0f}"
    ratio = wide.max_variance_consistent / theirs
    yield Figure("Gaussian plan of 50 attributes / ResidualPlanner's", ratio, 1.01, "lower", "×", note)
    rho = rho_for(Fraction(1), Fraction(1, 10**5))
    approximate = plan_cube(ADULT, NoiseModel(ConcentratedBudget(rho, "add-remove"))).max_variance_consistent
    pure = plan_cube(ADULT, NoiseModel(PureBudget(Fraction(1), "add-remove"))).max_variance_consistent
    note = f"max variance {approximate:.1f} at (ε = 1, δ = 1e-5), ρ = {float(rho):.5f}; {pure:.1f} at pure ε = 1"
    yield Figure("Adult's cube, (ε, δ) / pure", approximate / pure, 1 / 8, "lower", "×", note)
